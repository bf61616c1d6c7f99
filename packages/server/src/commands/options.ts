import { readFileSync } from 'node:fs'
import { type JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { z } from 'zod'
import { duration as durationText, publicUrl } from '../config-values.js'

export const jsonOption = () => new Option('--json', 'print JSON, each thing as the HTTP API would')
export const projectOption = () =>
  new Option('--project <project>', 'its name or id').default('default')
export const agentsOption = () =>
  new Option(
    '--agents <file>',
    'ES module: agent functions as its default export, child processes as its export `programs`',
  )

/** Of every command on what a project has. */
export type ProjectOptions = { readonly project: string; readonly json?: true }
export const withProject = (command: Command): Command =>
  command.addOption(projectOption()).addOption(jsonOption())

/** An option that may be given several times, one value each time: a list of values would swallow the argument behind it. */
export const repeatable = (flags: string, about: string, choices: readonly string[]) =>
  new Option(flags, `${about} (${choices.join(', ')}); can be given several times`).argParser(
    (value: string, before?: readonly string[]) => {
      if (!choices.includes(value))
        throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
      return [...(before ?? []), value]
    },
  )

/** Under the help of a command. */
export const example = (...lines: string[]): string =>
  `\nExample${lines.length > 1 ? 's' : ''}:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`

const MOST = 999_999_999

/** What reads one, and says its bounds where it is none. */
export const wholeNumber =
  (min: number, max = MOST, what = 'a whole number') =>
  (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It takes ${what}, ${min} to ${max}.`)
  }

const instantText = z.iso.date().or(z.iso.datetime({ offset: true }))

/** A day is its beginning in UTC. `Date.parse` alone would take the month of 1.2.2030 for the day, and 7 for July of 2001. */
export function instant(text: string): number {
  if (instantText.safeParse(text).success) return Date.parse(text)
  throw new InvalidArgumentError('It takes an instant such as 2030-01-31 or 2030-01-31T12:00:00Z.')
}

let isStdinTaken = false

/** The bytes of a file, or of stdin for `-`, which can be had once. */
export function fileOrStdin(file: string): Buffer {
  if (file === '-' && isStdinTaken)
    throw new InvalidArgumentError('Stdin is read for something else already.')
  isStdinTaken ||= file === '-'
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    throw new InvalidArgumentError(
      `It cannot be read (${error instanceof Error ? error.message : String(error)}).`,
    )
  }
}

export function jsonFile(file: string): JsonObject {
  const text = fileOrStdin(file).toString()
  try {
    const value = JSON.parse(text) as unknown
    if (isJsonObject(value)) return value
  } catch {
    // Said below: a parser's message may quote what is secret.
  }
  throw new InvalidArgumentError('It takes a JSON object.')
}

const LONGEST_MS = 365 * 86_400_000

/** Milliseconds. */
export function duration(text: string): number {
  const parsed = durationText(0, LONGEST_MS).safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('It takes a duration such as 30s, 5m, 1h or 2d.')
}

/** Where a server is. */
export function serverUrl(text: string): string {
  const parsed = publicUrl.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('It takes a URL such as http://127.0.0.1:3000.')
}
