/** How all pages of layover look: their colours, and the parts of forms. Light or dark, as the reader's system is. */

export const look = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; --ground: #f5f6f8; --paper: #fff; --ink: #1b1f27; --soft: #535d6c; --line: #d3d8e0; --edge: #767f8d; --main: #1d5fc4; --on-main: #fff; --good: #177340; --bad: #b3261e; --warn: #835500; --wait: #4d4fb0; }
@media (prefers-color-scheme: dark) { :root { --ground: #12151b; --paper: #1b2028; --ink: #e6e9ef; --soft: #a7b1c0; --line: #353d4a; --edge: #7d889a; --main: #8ab4f8; --on-main: #10213d; --good: #6fcf97; --bad: #f2928b; --warn: #e8b45a; --wait: #b3b5ff; } }
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--ground); color: var(--ink); }
h1, h2, h3, p, dd, li, .error, legend, label, summary, a { overflow-wrap: anywhere; }
a { color: var(--main); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; }
dt, .quiet, .note { color: var(--soft); }
.quiet { font-weight: 400; }
dd, .note, .wrong { margin: 0; min-width: 0; }
.note, .wrong { font-size: .875rem; margin-bottom: .375rem; }
.wrong { color: var(--bad); font-weight: 600; }
.field, fieldset { margin: 0 0 1rem; }
fieldset { border: 0; padding: 0; min-width: 0; }
.field > label, legend { display: block; padding: 0; font-weight: 600; margin-bottom: .25rem; }
.option { display: flex; gap: .625rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; margin-bottom: .375rem; cursor: pointer; }
textarea, select, input:not([type=radio], [type=checkbox]) { width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; font: inherit; background: Field; color: FieldText; }
textarea { min-height: 8rem; resize: vertical; }
.json, pre, code { font-family: ui-monospace, monospace; }
[aria-invalid] { border-color: var(--bad); }
.buttons { display: flex; gap: .75rem; flex-wrap: wrap; margin-top: .5rem; }
.buttons button { flex: 1 1 8rem; }
button, .button { display: inline-block; min-height: 2.75rem; padding: .5rem 1.25rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--paper); color: var(--ink); font: inherit; font-weight: 600; cursor: pointer; text-decoration: none; }
.primary { background: var(--main); color: var(--on-main); border-color: transparent; }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
summary { cursor: pointer; }
.error { border-left: .25rem solid var(--bad); background: var(--paper); padding: .5rem 1rem; margin-bottom: 1.5rem; }
.error p { margin: .25rem 0; }`;
