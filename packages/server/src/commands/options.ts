import { readFileSync } from 'node:fs'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { z } from 'zod'
import { duration as durationText, publicUrl } from '../settings/config-values.js'
import { allowedValue } from '../settings/environment.js'

export type JsonOption = { readonly json?: true }
export const jsonOption = () => new Option('--json', 'print JSON in the format of the HTTP API')
export const agentsOption = () =>
  new Option(
    '--agents <file>',
    'ES module with agent functions as default export and child processes as `programs`',
  )
/** `loadConfig` checks the value, as it checks PORT. */
export const portOption = () =>
  new Option('--port <port>', `${allowedValue('PORT')} (default: $PORT, or 3000)`)

/** The options of a command that works on the database, or over HTTP on a server. */
export type BackendOptions = {
  readonly project?: string
  readonly server?: string
  readonly apiKey?: string
  readonly profile?: string
  /** The file with the agents of the service on the database. */
  readonly agents?: string
  readonly json?: true
}
export const withBackend = (command: Command): Command =>
  withServer(
    command.option(
      '--project <project>',
      'project name or id in the database (default: "default"), or for a platform key its id or externalId on the server',
    ),
    'API key of the project on the server',
  )
export const withServer = (command: Command, key: string): Command =>
  command
    .addOption(
      new Option('--server <url>', 'work over HTTP on the server with this URL')
        .argParser(serverUrl)
        .conflicts('profile'),
    )
    .option('--api-key <key>', key)
    .option('--profile <name>', 'server and API key from the profile file')
    .addOption(jsonOption())

/** An option with one value that can be repeated. A list would swallow the next argument. */
export const listed = (flags: string, about: string, valueOf: (text: string) => unknown) =>
  new Option(flags, about).argParser((text: string, before?: readonly unknown[]) => [
    ...(before ?? []),
    valueOf(text),
  ])

export const repeatable = (flags: string, about: string, choices: readonly string[]) =>
  listed(flags, `${about} (repeatable, choices: ${choices.join(', ')})`, (text) => {
    if (choices.includes(text)) return text
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
  })

/** Makes a parser of texts that the rule accepts. */
export const ruled = (rule: (text: unknown) => string | undefined) => (text: string) => {
  const problem = rule(text)
  if (problem === undefined) return text
  throw new InvalidArgumentError(`It ${problem}.`)
}

const MAX_NUMBER = 999_999_999

/** Returns a parser for a whole number within the limits. */
export const wholeNumber =
  (min: number, max = MAX_NUMBER, what = 'a whole number') =>
  (text: string) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`Expected ${what} from ${min} to ${max}.`)
  }

export const limitOption = (what: string) =>
  new Option('--limit <number>', `maximum number of ${what}`).argParser(wholeNumber(1)).default(20)

const instantText = z.iso.date().or(z.iso.datetime({ offset: true }))

/** Parses an instant, or a time of the day of this machine, which is the last one before `now`. */
export function since(text: string, now = new Date()) {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  if (hour === undefined) return instant(text)
  const at = new Date(now)
  at.setHours(Number(hour), Number(minute), 0, 0)
  if (at > now) at.setDate(at.getDate() - 1)
  return at.toISOString()
}

export const sinceOption = () =>
  new Option('--since <time>', 'as --after, also a time of the day, such as 10:00')
    .argParser((text: string) => since(text))
    .conflicts('after')

/**
 * Parses an ISO 8601 date (midnight UTC) or instant. `Date.parse` alone would also accept `7` and
 * read 1.2.2030 as the second of January.
 */
export function instant(text: string) {
  if (instantText.safeParse(text).success) return new Date(text).toISOString()
  throw new InvalidArgumentError('Expected a time such as 2030-01-31 or 2030-01-31T12:00:00Z.')
}

let isStdinUsed = false

/** Reads a file, or stdin for `-`. Stdin can be read only once. */
export function fileOrStdin(file: string) {
  if (file === '-' && isStdinUsed)
    throw new InvalidArgumentError('Only one argument can be read from stdin.')
  isStdinUsed ||= file === '-'
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    throw new InvalidArgumentError(
      `Cannot read the file: ${error instanceof Error ? error.message : String(error)}.`,
    )
  }
}

export function jsonFile(file: string) {
  if (file.trimStart().startsWith('{'))
    throw new InvalidArgumentError('Expected the name of a JSON file, or - to read stdin.')
  const text = fileOrStdin(file).toString()
  try {
    const value = JSON.parse(text) as unknown
    if (isJsonObject(value)) return value
  } catch {
    // The message of the JSON parser can quote a secret, so the error below replaces it.
  }
  throw new InvalidArgumentError('Expected a JSON object.')
}

const MAX_DURATION_MS = 365 * 86_400_000

/** Parses a duration into milliseconds. */
export function duration(text: string) {
  const parsed = durationText(0, MAX_DURATION_MS).safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('Expected a duration such as 30s, 5m, 1h or 2d.')
}

/** Parses the base URL of a server. */
export function serverUrl(text: string) {
  const parsed = publicUrl.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('Expected a URL such as http://127.0.0.1:3000.')
}
