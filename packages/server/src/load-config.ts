import { existsSync, readFileSync } from 'node:fs'
import { loadEnvFile } from 'node:process'
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
  const problems = existsSync('.env') ? envFileProblems(readFileSync('.env', 'utf8')) : []
  if (existsSync('.env')) loadEnvFile('.env')
  return [...problems, ...unknownVariables(process.env)]
}
