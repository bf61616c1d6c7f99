import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { readConfig, type Config } from './config.js'
import { envFileProblems } from './env-file.js'
import { OperatorError } from './operator-error.js'
import { unknownVariables } from './unknown-variables.js'

/** The settings of this process: its environment, and beneath it `.env` in the working directory. */
export function loadConfig(): Config {
  for (const line of readEnvironment()) process.stderr.write(`${line}\n`)
  const config = readConfig(process.env)
  if (config.isErr()) throw new OperatorError(config.error.join('\n'), 2)
  return config.value
}

/** Brings `.env` into the environment; gives a line for each thing there that has no effect. */
export function readEnvironment(): string[] {
  const text = readEnvFile()
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
  return [...envFileProblems(text), ...unknownVariables(process.env)]
}

/** Without the mark that some editors put in front, which would become a part of the first name. */
function readEnvFile(): string {
  try {
    return readFileSync('.env', 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new OperatorError(`.env cannot be read: ${(error as Error).message}`, 2)
  }
}
