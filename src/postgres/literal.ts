/** Writes a text as SQL does. It is for scripts, which take no parameters. All other SQL binds its values. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
