import { readFileSync } from 'node:fs'
import { err, ok, type Result } from 'neverthrow'
import type { Variables } from './config.js'
import { environment } from './environment.js'

const SUFFIX = '_FILE'

/** The setting that a variable such as `SERVICE_MASTER_KEY_FILE` reads from a file. */
export const settingOfFile = (name: string): string | undefined =>
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
