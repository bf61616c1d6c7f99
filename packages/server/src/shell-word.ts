/** The text as one word of a shell, quoted in any case. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** As `quoted`, but without quotes where the shell needs none. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text)
