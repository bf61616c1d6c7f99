import {
  createService,
  functionRuntime,
  PERMISSIONS,
  type Permission,
  type Policy,
} from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { createHttpApp } from '../src/app.js'
import type { HttpOptions } from '../src/options.js'
import { underContract } from './under-contract.js'

export const CRON_SECRET = 'a cron secret that nobody guesses'.replaceAll(' ', '-')

type Ask = {
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- each test asserts the shape it reads
  readonly json: any
}

/**
 * With `isStarted: false` the service works only when the cron route is called, as in a serverless
 * host.
 */
type SceneOptions = {
  readonly http?: Partial<HttpOptions>
  readonly policy?: Partial<Policy>
  readonly isStarted?: boolean
  readonly publicUrl?: string
}

/**
 * Opens the app over a service made of fakes, with one project and a key with all permissions. The
 * test answers agents of kind `fake`. Agents with the function `echo` answer at once.
 */
export async function openScene({
  http = {},
  policy = {},
  isStarted = true,
  publicUrl,
}: SceneOptions = {}) {
  const platform = fakePlatform()
  const echo = functionRuntime({ echo: ({ message }) => message })
  const service = createService({
    ...platform,
    runtimes: [platform.runtime, echo],
    policy,
    publicUrl: () => publicUrl,
  })
  if (isStarted) await service.start()

  const project = await service.projects.create({ name: 'a project' })
  const keyWith = async (
    permissions: readonly Permission[],
    projectId = project.id,
    expiresAt?: number,
  ) => await service.keys.create({ projectId, name: 'a key', permissions, expiresAt })
  const { key } = await keyWith(PERMISSIONS)
  const otherProject = await service.projects.create({ name: 'another project' })
  const otherKey = (await keyWith(PERMISSIONS, otherProject.id)).key

  let requests = 0
  const options = {
    service,
    crypto: platform.crypto,
    newRequestId: () => `request-${++requests}`,
    cronSecret: CRON_SECRET,
    ...http,
  }
  const { app, checkSent } = underContract(createHttpApp(options), {
    headerPrefix: service.policy.headerPrefix,
    runtimeKinds: service.host.runtimeKinds(),
  })

  /**
   * Sends a request, by default with the scene's key. Sends text and bytes unchanged, and other
   * bodies as JSON.
   */
  async function ask(
    method: string,
    path: string,
    { key: asked = key, body, headers, signal }: Ask = {},
  ): Promise<Answer> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const response = await app.request(path, {
      method,
      headers: {
        ...(asked !== '' && { Authorization: `Bearer ${asked}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as BodyInit }),
      ...(signal && { signal }),
    })
    if (response.ok && body !== undefined && !isRaw)
      checkSent(method, path, JSON.parse(JSON.stringify(body)))
    const text = await response.text()
    const isJson = response.headers.get('content-type') === 'application/json'
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    }
  }

  let agents = 0
  const createAgent = async (settings: Record<string, unknown> = {}): Promise<Answer['json']> => {
    const body = {
      name: `agent-${++agents}`,
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
      ...settings,
    }
    return (await ask('POST', '/v1/agents', { body })).json
  }
  /** An agent whose runs the test answers through `platform.runtime`. */
  const createSlowAgent = (settings: Record<string, unknown> = {}) =>
    createAgent({ runtime: { kind: 'fake' }, ...settings })

  return {
    ...platform,
    service,
    project,
    otherKey,
    key,
    keyWith,
    app,
    ask,
    createAgent,
    createSlowAgent,
  }
}
export type Scene = Awaited<ReturnType<typeof openScene>>

export const aMessage = (overrides: Record<string, unknown> = {}) => ({
  sessionId: 'session',
  message: 'Hello?',
  ...overrides,
})

/** An id that no row has. */
export const UNKNOWN_ID = '01890000-0000-7000-8000-00000000dead'
