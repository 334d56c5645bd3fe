/** The stylesheet of the dashboard's pages. */
import { look } from "../look.ts";

export const style = `${look}
html { scroll-padding: 1rem 0 4rem; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem; padding: .5rem clamp(1rem, 3vw, 2rem); background: var(--paper); border-bottom: 1px solid var(--line); }
header nav { display: flex; flex-wrap: wrap; gap: .25rem; flex: 1; }
header a { padding: .5rem .75rem; border-radius: .5rem; text-decoration: none; }
header a[aria-current] { background: var(--ground); color: var(--ink); font-weight: 600; box-shadow: inset 0 -.1875rem var(--main); }
.name { font-weight: 700; color: var(--ink); padding-left: 0; }
.who { margin: 0; display: flex; align-items: center; gap: .75rem; min-width: 0; }
.who .quiet { overflow: hidden; text-overflow: ellipsis; max-width: 12rem; white-space: nowrap; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: .5rem; top: .5rem; background: var(--paper); padding: .75rem; z-index: 1; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem clamp(1rem, 3vw, 2rem) 3rem; }
main:focus { outline: none; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .75rem 0; }
h2 { font-size: 1.125rem; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1rem 0 .5rem; }
.narrow { max-width: 30rem; margin: clamp(1rem, 8vh, 5rem) auto; }
.narrow form { margin-bottom: 1rem; }
#said:empty { display: none; }
#said { border-left: .25rem solid var(--good); background: var(--paper); padding: .5rem 1rem; margin: 0 0 1rem; }
#said.error { border-color: var(--bad); }
footer { position: sticky; bottom: 0; display: flex; align-items: center; gap: 1rem; padding: .375rem clamp(1rem, 3vw, 2rem); background: var(--paper); border-top: 1px solid var(--line); font-size: .875rem; color: var(--soft); }
footer p { margin: 0; }
footer button { min-height: 2rem; padding: .125rem .75rem; }
pre { margin: 0; padding: .75rem; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem; overflow: auto; max-height: 24rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .875rem; }
.panel { background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem; margin: 0 0 1rem; }
.filter { background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem 1rem 0; margin-bottom: 1rem; }
.filter details { margin-bottom: 1rem; }
.filter details .fields { padding-top: .75rem; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0 1rem; }
.filter .buttons { margin: 0 0 1rem; }
.filter .buttons > * { flex: 0 1 8rem; text-align: center; }
.badge { display: inline-block; justify-self: start; padding: 0 .5rem; border-radius: 1rem; border: 1px solid; font-size: .875rem; font-weight: 600; white-space: nowrap; color: var(--soft); }
.badge::before { content: "●"; margin-right: .375rem; font-size: .625rem; vertical-align: .125rem; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.warn { color: var(--warn); }
.busy { color: var(--main); }
.calm { color: var(--wait); }
.badge.bad::before { content: "✕"; }
.badge.good::before { content: "✓"; }
.badge.over::before { content: "–"; }
.runs { list-style: none; margin: 0; padding: 0; background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; overflow: hidden; }
.runs li { display: grid; grid-template-columns: minmax(12rem, 2fr) 8.5rem 8rem minmax(0, 3fr); gap: .125rem 1rem; align-items: baseline; padding: .25rem 1rem; border-top: 1px solid var(--line); }
.runs li:first-child { border-top: 0; }
.runs a { padding: .375rem 0; text-decoration: none; }
.runs a:hover { text-decoration: underline; }
.workflow { font-weight: 600; }
.id { color: var(--ink); }
.age, .remark { color: var(--soft); font-size: .875rem; }
.remark { overflow-wrap: anywhere; min-width: 0; }
.none { padding: 2rem 0; color: var(--soft); text-align: center; }
.pager { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.facts { font-size: .9375rem; margin-bottom: 1rem; }
.fault { border-left: .25rem solid var(--bad); padding-left: .75rem; margin: .25rem 0; }
.fault p { margin: .25rem 0; }
.acts { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: flex-start; }
.acts > details { border: 1px solid var(--edge); border-radius: .5rem; background: var(--paper); }
.acts > details > summary { padding: .5rem 1rem; font-weight: 600; min-height: 2.75rem; }
.acts > details[open] { flex: 1 0 100%; }
.acts form { padding: .5rem 1rem 1rem; max-width: 40rem; }
.danger > summary, button.danger { color: var(--bad); }
.timeline { list-style: none; margin: 0; padding: 0; }
.timeline > li { border-top: 1px solid var(--line); }
.row { display: grid; grid-template-columns: minmax(9rem, 17rem) minmax(0, 1fr) 6.5rem; gap: .75rem; align-items: center; padding: .25rem .25rem; min-height: 2.25rem; }
summary.row { list-style: none; }
summary.row::-webkit-details-marker { display: none; }
summary.row:hover { background: var(--ground); }
.row .label { overflow-wrap: anywhere; font-size: .9375rem; }
summary.row .label::before { content: "▸"; color: var(--soft); margin-right: .375rem; }
details[open] > summary.row .label::before { content: "▾"; }
.row .took { text-align: right; color: var(--soft); font-size: .875rem; }
.deep1 .label { padding-left: 1rem; }
.deep2 .label { padding-left: 2rem; }
.deep3 .label { padding-left: 3rem; }
.deep4 .label { padding-left: 4rem; }
.row svg { display: block; width: 100%; height: 1.25rem; background: repeating-linear-gradient(to right, var(--line) 0 1px, transparent 1px 25%); }
rect.done { fill: var(--good); }
rect.failed { fill: var(--bad); }
rect.open { fill: var(--main); }
rect.wait { fill: var(--wait); opacity: .55; }
rect.group { fill: var(--edge); opacity: .6; }
.scale { color: var(--soft); font-size: .875rem; border: 0; }
.ticks { display: flex; justify-content: space-between; }
.inside { padding: .25rem .5rem 1rem 1.5rem; display: grid; gap: .5rem; }
.inside h3 { margin: .25rem 0; }
.plain { list-style: none; padding: 0; margin: 0; display: grid; gap: .5rem; }
@media (max-width: 48rem) {
  .runs li { grid-template-columns: 1fr auto; padding: .5rem .75rem; }
  .runs a { grid-column: 1 / -1; }
  .runs .remark { grid-column: 1 / -1; }
  .runs .age { text-align: right; }
  .row { grid-template-columns: minmax(0, 1fr) auto; gap: .125rem .5rem; }
  .row svg, .row .ticks { grid-column: 1 / -1; grid-row: 2; }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dt { margin-top: .5rem; }
  header { gap: .25rem .75rem; }
  header nav { order: 3; flex: 1 0 100%; }
}
@media (prefers-reduced-motion: no-preference) { .badge.busy::before { animation: beat 1.6s infinite; } @keyframes beat { 50% { opacity: .3; } } }
`;
