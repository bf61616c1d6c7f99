import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Result } from 'neverthrow'
import { readConfig, type Config, type Variables } from './config.js'
import { OperatorError } from '../operator-error.js'
import { withSettingFiles } from './setting-files.js'
import { envFileProblems, unknownVariables, unsupportedLogs } from './setting-warnings.js'

/**
 * Reads the settings from the options, the environment and `.env`, and prints a warning for ignored
 * ones.
 */
export function loadConfig(options?: Variables): Config {
  const { config, warnings } = readSettings(options)
  for (const line of warnings) process.stderr.write(`${line}\n`)
  if (config.isErr()) throw new OperatorError(config.error.join('\n'), 2)
  return config.value
}

/** Also adds the variables of `.env` to the environment. Warns of each ignored setting. */
export function readSettings(options?: Variables): {
  config: Result<Config, string[]>
  warnings: string[]
} {
  const text = readEnvFile()
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
  return {
    config: withSettingFiles(process.env).andThen((env) => readConfig(env, options)),
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
