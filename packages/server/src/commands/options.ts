import { InvalidArgumentError, Option } from 'commander'

export const jsonOption = () => new Option('--json', 'print JSON, as the HTTP API would')
export const projectOption = () => new Option('--project <project>', 'its name or id').default('default')
export const agentsOption = () => new Option('--agents <file>', 'ES module whose default export is a record of agent functions')

/** Under the help of a command. */
export const example = (...lines: string[]): string => `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.')
  return Number(text)
}

export function instant(text: string): number {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new InvalidArgumentError('It takes an instant such as 2030-01-31 or 2030-01-31T12:00:00Z.')
  return at
}
