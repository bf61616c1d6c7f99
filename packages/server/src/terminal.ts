/**
 * Replaces control characters with spaces, except line breaks and tabs.
 * Untrusted text could otherwise move the cursor or change colours.
 */
export const printable = (text: string) => text.replaceAll(/[^\P{Cc}\n\t]/gu, ' ')

/** Quotes the text as one word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Like `quoted`, but leaves text that needs no quotes unchanged. */
export const shellWord = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text))
