/** What a form or an address holds. */
export type Form = Readonly<Record<string, unknown>>

/** A field as text, with the line ends of the rest of the world; empty when it is absent, or a file. */
export function textIn(form: Form, name: string): string {
  const value = form[name]
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
}
