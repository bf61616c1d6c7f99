import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { publicUrl } from './config-values.js'
import { OperatorError } from '../operator-error.js'
import { shellWord } from '../terminal.js'

/** A server, and the API key of one of its projects. */
export type Profile = { readonly server: string; readonly apiKey?: string | undefined }

type Env = Readonly<Record<string, string | undefined>>

const profiles = z.record(
  z.string(),
  z.strictObject({ server: publicUrl, apiKey: z.string().min(1).optional() }),
)

/** The profile file, in the directory for settings of the XDG specification. */
export function profilesFile(env: Env): string {
  const configured = env['XDG_CONFIG_HOME'] ?? ''
  const directory = path.isAbsolute(configured) ? configured : path.join(homedir(), '.config')
  return path.join(directory, 'agent-messaging', 'profiles.json')
}

/**
 * Reads a profile from the file. Throws if other users have access to the file, because the file
 * contains API keys. No error quotes the content.
 */
export function readProfile(name: string, file: string): Profile {
  const parsed = profiles.safeParse(jsonOf(file))
  if (!parsed.success) {
    const places = parsed.error.issues.map(({ path: place }) => place.join('.') || 'the file')
    throw new OperatorError(
      `${file} is invalid at ${places.join(', ')}; expected {"<name>": {"server": "https://…", "apiKey": "amk_…"}}`,
      2,
    )
  }
  const found = Object.entries(parsed.data).find(([each]) => each === name)
  if (found) return found[1]
  const names = Object.keys(parsed.data).join(', ') || 'none'
  throw new OperatorError(`${file} has no profile ${JSON.stringify(name)}; it has: ${names}`, 2)
}

function jsonOf(file: string) {
  const text = privateText(file)
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new OperatorError(`${file} is not JSON`, 2)
  }
}

/** Checks the mode of the file that is then read. Windows has no such modes. */
function privateText(file: string): string {
  const opened = openedFile(file)
  try {
    const mode = fstatSync(opened).mode & 0o777
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw new OperatorError(
        `${file} contains API keys, but other users have access to it (mode ${mode.toString(8)}); run: chmod 600 ${shellWord(file)}`,
        2,
      )
    return readFileSync(opened, 'utf8')
  } finally {
    closeSync(opened)
  }
}

function openedFile(file: string): number {
  try {
    return openSync(file, 'r')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new OperatorError(
      code === 'ENOENT'
        ? `the profile file ${file} does not exist; see docs/cli.md`
        : `cannot read the profile file: ${message}`,
      2,
    )
  }
}
