/** A text as SQL writes it. For scripts, which take no parameters; all else binds its values. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
