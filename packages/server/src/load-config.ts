import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { readConfig, type Config } from './config.js'
import { OperatorError } from './operator-error.js'
import { envFileProblems, unknownVariables } from './setting-warnings.js'

/** Reads the settings from the environment and `.env`, and prints a warning for ignored ones. */
export function loadConfig(): Config {
  for (const line of readEnvironment()) process.stderr.write(`${line}\n`)
  const config = readConfig(process.env)
  if (config.isErr()) throw new OperatorError(config.error.join('\n'), 2)
  return config.value
}

/** Adds the variables of `.env` to the environment, and returns a line for each ignored setting. */
export function readEnvironment(): string[] {
  const text = readEnvFile()
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
  return [...envFileProblems(text), ...unknownVariables(process.env)]
}

/** Removes a byte order mark, which would otherwise become part of the first name. */
function readEnvFile(): string {
  try {
    return readFileSync('.env', 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new OperatorError(`cannot read .env: ${(error as Error).message}`, 2)
  }
}
