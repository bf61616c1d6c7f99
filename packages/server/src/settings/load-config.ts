import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Result, err, ok } from 'neverthrow'
import { configIn, parseConfig, type Config, type Variables } from './config.js'
import { OperatorError } from '../operator-error.js'
import { nearestName } from '@org/agent-messaging-core/runtime'
import { environment } from './environment.js'

/**
 * Reads the settings from the options, the environment and `.env`, and prints a warning for ignored
 * ones.
 */
export function loadConfig(options?: Variables): Config {
  const { config, warnings } = readSettings(options)
  for (const line of warnings) process.stderr.write(`${line}\n`)
  return configIn(config)
}

/** Also adds the variables of `.env` to the environment. Warns of each ignored setting. */
export function readSettings(options?: Variables): {
  config: Result<Config, string[]>
  warnings: string[]
} {
  const text = readEnvFile()
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
  return {
    config: withSettingFiles(process.env).andThen((env) => parseConfig(env, options)),
    warnings: [
      ...envFileProblems(text),
      ...unknownVariables(process.env),
      ...unsupportedLogs(process.env),
    ],
  }
}

/** Removes a byte order mark, which would otherwise become part of the first name. */
function readEnvFile() {
  try {
    return readFileSync('.env', 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new OperatorError(`cannot read .env: ${(error as Error).message}`, 2)
  }
}

/**
 * One line for each line of an `.env` file that sets nothing. Most lack the `=`.
 * The text of the line can be a secret and is not shown.
 */
export function envFileProblems(text: string): string[] {
  // Empties quoted values, which can span lines, and keeps their line breaks for the line numbers.
  const plain = text.replaceAll(
    /=[ \t]*(["'`])[^]*?\1/g,
    (value) => `=${value.replaceAll(/[^\n]/g, '')}`,
  )
  return plain.split('\n').flatMap((line, index) => {
    const isValid =
      line.trim() === '' ||
      line.trimStart().startsWith('#') ||
      /^\s*(?:export\s+)?[\w.-]+\s*=/.test(line)
    return isValid ? [] : [`.env line ${index + 1} is ignored: expected NAME=value`]
  })
}

/**
 * One line for each unknown SERVICE_… variable, with a suggestion.
 * A name with odd characters can contain a secret value and is skipped.
 */
export function unknownVariables(env: Variables): string[] {
  const known = Object.keys(environment.shape)
  const unknown = Object.keys(env).filter(
    (name) =>
      /^SERVICE_\w+$/.test(name) && !known.includes(name) && settingOfFile(name) === undefined,
  )
  return unknown.map((name) => {
    const suggestion = nearestName(name, known)
    const hint = suggestion === undefined ? '' : `. Did you mean ${suggestion}?`
    return `${name} is ignored: there is no such setting${hint}`
  })
}

/** A line for a variable of OpenTelemetry that asks for logs. */
export function unsupportedLogs({ OTEL_LOGS_EXPORTER: exporter = '' }: Variables): string[] {
  if (exporter === '' || exporter === 'none') return []
  return ['OTEL_LOGS_EXPORTER is not supported: the server does not export its logs']
}

const SUFFIX = '_FILE'

/** The setting that a variable such as `SERVICE_MASTER_KEY_FILE` reads from a file. */
const settingOfFile = (name: string) =>
  name.endsWith(SUFFIX) && Object.hasOwn(environment.shape, name.slice(0, -SUFFIX.length))
    ? name.slice(0, -SUFFIX.length)
    : undefined

/** Adds the settings whose values are in files. Returns a line for each one that is wrong. */
export function withSettingFiles(env: Variables): Result<Variables, string[]> {
  const added: Record<string, string> = {}
  const problems: string[] = []
  for (const [variable, path = ''] of Object.entries(env)) {
    const name = settingOfFile(variable)
    if (name === undefined || path === '') continue
    if (env[name]) {
      problems.push(`${name} and ${variable} are both set; set only one of them`)
      continue
    }
    const text = textOf(path)
    if (text.isErr()) problems.push(`${variable} must name a file with the value: ${text.error}`)
    else added[name] = text.value
  }
  return problems.length > 0 ? err(problems) : ok({ ...env, ...added })
}

function textOf(path: string): Result<string, string> {
  try {
    const text = readFileSync(path, 'utf8').trim()
    return text === '' ? err(`${path} is empty`) : ok(text)
  } catch (error) {
    return err((error as Error).message)
  }
}
