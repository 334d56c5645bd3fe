/** The names that a public entry exports, each with the docstring at its declaration. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";

export interface PublicName {
  readonly name: string;
  readonly file: string;
  /** A function, class … or an interface, type. */
  readonly kind: string;
  /** Its text; undefined where there is none. */
  readonly docstring: string | undefined;
}

/** Follows what `file` exports to the declarations, in whatever file they are. */
export function publicNames(file: string): PublicName[] {
  return exportsOf(file).map(({ name, local, from }) => ({ ...declarationOf(local, from), name }));
}

interface Export {
  readonly name: string;
  readonly local: string;
  readonly from: string;
}

function exportsOf(file: string): Export[] {
  const { imports, statements } = read(file);
  return statements.flatMap((statement): Export[] => {
    if (statement.type !== "ExportNamedDeclaration") return [];
    const source = statement.source === null ? undefined : join(dirname(file), statement.source.value);
    const declared = statement.declaration === null ? [] : namesIn(statement.declaration);
    const listed = statement.specifiers.map(({ exported, local }): Export => {
      const imported = imports.get(textOf(local));
      return { name: textOf(exported), local: imported?.name ?? textOf(local), from: source ?? imported?.file ?? file };
    });
    return [...declared.map((name): Export => ({ name, local: name, from: file })), ...listed];
  });
}

function declarationOf(name: string, file: string): Omit<PublicName, "name"> {
  const { statements, comments, text } = read(file);
  for (const statement of statements) {
    const isExport = statement.type === "ExportNamedDeclaration";
    const declaration = isExport ? statement.declaration : statement;
    if (declaration === null || !namesIn(declaration).includes(name)) continue;
    const comment = comments.findLast(
      ({ end }) => end <= statement.start && text.slice(end, statement.start).trim() === "",
    );
    const docstring = comment?.value.startsWith("*") ? comment.value.slice(1).trim() : undefined;
    return { file, kind: declaration.type, docstring };
  }
  const again = exportsOf(file).find((each) => each.name === name && each.from !== file);
  if (again !== undefined) return declarationOf(again.local, again.from);
  throw new Error(`${file} declares no ${name}`);
}

type Statement = ReturnType<typeof parseSync>["program"]["body"][number];

function namesIn(declaration: Statement): string[] {
  if ("declarations" in declaration) {
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
}

function textOf(name: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return String(name.name ?? name.value);
}

function read(file: string) {
  const text = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, text);
  const imports = new Map<string, { readonly name: string; readonly file: string }>();
  for (const statement of program.body) {
    if (statement.type !== "ImportDeclaration") continue;
    for (const specifier of statement.specifiers) {
      if (specifier.type !== "ImportSpecifier") continue;
      const target = join(dirname(file), statement.source.value);
      imports.set(specifier.local.name, { name: textOf(specifier.imported), file: target });
    }
  }
  return { text, comments, imports, statements: program.body };
}
