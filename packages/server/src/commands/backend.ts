import { randomUUID } from 'node:crypto'
import { createClient, type Client } from '@org/agent-messaging-client'
import { PERMISSIONS, type Actor, type MessagingService } from '@org/agent-messaging-core'
import { given } from '@org/agent-messaging-core/runtime'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import { Hono } from 'hono'
import type { Variables } from '../settings/config.js'
import { publicUrl } from '../settings/config-values.js'
import { loadConfig } from '../settings/load-config.js'
import { portalPages } from '../portal.js'
import { projectNamed } from '../lookup.js'
import { OperatorError } from '../operator-error.js'
import { onDatabase } from './admin.js'
import type { BackendOptions } from './options.js'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { shellWord } from '../terminal.js'

/**
 * The API that a command calls: of a server over HTTP, or of the service on the configured database
 * without a connection. A command is written once, for the client.
 */
export type Backend = {
  readonly client: Client
  /** The server, or the database without its password. */
  readonly place: { readonly server: string } | { readonly database: string }
  /** The service on the database. Absent for a server. */
  readonly service?: MessagingService
}

/** A server with the API key of a project, a platform key for `project`, or its operator key. */
type Server = { readonly server: string; readonly apiKey: string; readonly project?: string }

/** Works on the server of the options or of the environment, or else on the database. */
export async function onBackend(
  options: BackendOptions,
  isOfOperator: boolean | undefined,
  work: (backend: Backend) => Promise<void>,
  /** How often a read is repeated while nothing responds. */
  retries?: number,
) {
  const chosen = serverOf(options, process.env)
  if (chosen) {
    const { server, ...key } = chosen
    return work({
      client: createClient({ baseUrl: server, ...key, retries: retries ?? 1 }),
      place: { server },
    })
  }
  const { project = 'default', agents } = options
  await onDatabase(
    async (service, database) => {
      const id = isOfOperator ? '' : (await projectNamed(service, project)).id
      await work({ client: localClient(service, id, retries), place: { database }, service })
    },
    agents,
    '; or select a server with --server or --profile',
  )
}

/** The chosen server, or undefined for the database. */
export function serverOf(options: BackendOptions, env: Variables): Server | undefined {
  const { server, apiKey } = profileOf(options, env) ?? {}
  const key = options.apiKey ?? apiKey
  if (server === undefined && options.apiKey !== undefined)
    throw new OperatorError('--api-key requires --server or --profile', 2)
  if (server === undefined) return undefined
  if (key) return { server, apiKey: key, ...given({ project: options.project }) }
  throw new OperatorError(
    `an API key for ${server} is required; use --api-key, a profile, or AGENT_MESSAGING_API_KEY`,
    2,
  )
}

/** Options come before the environment. A server of an option never gets the key of a profile. */
function profileOf({ server, profile }: BackendOptions, env: Variables): Profile | undefined {
  const apiKey = env['AGENT_MESSAGING_API_KEY']
  if (server !== undefined) return { server, apiKey }
  const name = profile ?? env['AGENT_MESSAGING_PROFILE']
  if (name) return readProfile(name, profilesFile(env))
  const address = env['AGENT_MESSAGING_SERVER']
  if (!address) return undefined
  const parsed = publicUrl.safeParse(address)
  if (parsed.success) return { server: parsed.data, apiKey }
  throw new OperatorError('AGENT_MESSAGING_SERVER must be a URL such as http://127.0.0.1:3000', 2)
}

/** The client needs an address and a key. Neither leaves this process. */
const NOWHERE = { baseUrl: 'http://database.invalid', apiKey: 'unused' }

/** The audit log names the CLI. */
function localClient(service: MessagingService, projectId: string, retries = 0): Client {
  const config = loadConfig()
  const api = createHttpApp({
    service: withAllPermissions(service, projectId),
    operatorKey: NOWHERE.apiKey,
    portal: portalPages(config.portal, () => config.publicUrl),
    crypto: { equal: () => true },
    newRequestId: randomUUID,
    onError: (error) => console.error(error),
    onRequest: ({ reason }) => {
      if (reason !== undefined) console.error(reason)
    },
  })
  const app = new Hono<{ Variables: { actor: Actor } }>()
    .use(async (c, next) => {
      c.set('actor', { kind: 'cli' })
      return next()
    })
    .route('/', api)
  const request: typeof fetch = async (input, init) => app.fetch(new Request(input, init))
  return createClient({ ...NOWHERE, retries, fetch: request })
}

/** Accepts each request for the project. */
function withAllPermissions(service: MessagingService, projectId: string) {
  const key = { id: 'cli', projectId, name: 'cli', permissions: PERMISSIONS, createdAt: 0 }
  return {
    ...service,
    host: { ...service.host, authenticate: async () => key, recall: () => undefined },
  }
}

/** Returns the first rows of a list. */
export async function firstOf<T>(rows: AsyncIterable<T>, limit = Infinity): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) if (found.push(row) >= limit) break
  return found
}

/** A server, and the API key of one of its projects. */
type Profile = { readonly server: string; readonly apiKey?: string | undefined }

const profiles = z.record(
  z.string(),
  z.strictObject({ server: publicUrl, apiKey: z.string().min(1).optional() }),
)

/** The profile file, in the directory for settings of the XDG specification. */
export function profilesFile(env: Variables) {
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
function privateText(file: string) {
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

function openedFile(file: string) {
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
