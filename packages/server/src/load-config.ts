import { existsSync } from 'node:fs'
import { loadEnvFile } from 'node:process'
import { readConfig, type Config } from './config.js'
import { OperatorError } from './operator-error.js'
import { unknownVariables } from './unknown-variables.js'

/** The settings of this process: its environment, and beneath it `.env` in the working directory. */
export function loadConfig(): Config {
  if (existsSync('.env')) loadEnvFile('.env')
  for (const line of unknownVariables(process.env)) process.stderr.write(`${line}\n`)
  const config = readConfig(process.env)
  if (config.isErr()) throw new OperatorError(config.error.join('\n'), 2)
  return config.value
}
