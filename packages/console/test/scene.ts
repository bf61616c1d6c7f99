import { createService, PERMISSIONS, type Permission } from '@org/agent-messaging-core'
import { failedRun } from '@org/agent-messaging-core/runtime'
import type { Storage } from '@org/agent-messaging-core/storage'
import {
  fakePlatform,
  type FakeRuntimeOptions,
  type FakeSender,
} from '@org/agent-messaging-testing'
import { createConsole } from '../src/console.js'
import type { PortalOptions } from '../src/context.js'

export const ORIGIN = 'http://127.0.0.1:3000'

type SceneOptions = {
  readonly permissions?: readonly Permission[]
  readonly publicUrl?: string
  readonly operatorKey?: string
  readonly portal?: Partial<PortalOptions>
  /** Answers instead of the usual handler. */
  readonly handler?: FakeRuntimeOptions['handler']
  /** Instead of those of the fake platform. */
  readonly parts?: { readonly sender: FakeSender; readonly storage: Storage }
}

/** The console over a service in memory, with a project, a key and the agent `bot`. */
export async function scene({
  permissions = PERMISSIONS,
  publicUrl,
  operatorKey,
  portal,
  parts,
  handler,
}: SceneOptions = {}) {
  const platform = fakePlatform({
    handler: (request, signal) => {
      const { message, inputs } = request
      if (handler) return handler(request, signal)
      if (message === 'never') return new Promise(() => undefined)
      if (message === 'ask' && !inputs)
        return { kind: 'input_required', question: 'Pay <b>?', options: ['yes', 'no'] }
      if (message === 'ask twice' && (inputs?.length ?? 0) < 2)
        return { kind: 'input_required', question: 'Pay again?', options: ['yes', 'no'] }
      if (message === 'fail')
        return {
          ...failedRun('RUNTIME_ERROR', 'the <b>model</b> is busy'),
          usage: { inputTokens: 7, outputTokens: 0 },
        }
      return { kind: 'answered', response: message }
    },
  })
  const service = createService({ ...platform, ...parts })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  const { key, apiKey } = await service.keys.create({ projectId, name: 'mine', permissions })
  await service.agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  const thrown: unknown[] = []
  const pages = createConsole({
    service,
    crypto: platform.crypto,
    catcher: true,
    onError: (error) => thrown.push(error),
    publicUrl: () => publicUrl,
    operatorKey,
    portal,
  })

  /** Changes the time of day, and lets the service follow. */
  const jump = async (ms: number): Promise<void> => {
    platform.clock.set(platform.clock.now() + ms)
    service.host.now()
    await platform.clock.advance(0)
  }
  const get = async (path: string, cookie = ''): Promise<Response> =>
    pages.fetch(new Request(ORIGIN + path, { headers: { cookie } }))
  const post = async (
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = { origin: ORIGIN },
  ) =>
    pages.fetch(
      new Request(ORIGIN + path, { method: 'POST', headers, body: new URLSearchParams(form) }),
    )
  async function signIn(withKey = key): Promise<string> {
    const answer = await post('/console/sign-in', { key: withKey })
    return cookieOf(answer)
  }
  return {
    jump,
    ...platform,
    service,
    projectId,
    key,
    apiKey,
    pages,
    thrown,
    get,
    post,
    signIn,
  }
}

export const cookieOf = (answer: Response): string =>
  answer.headers.get('set-cookie')?.split(';')[0] ?? ''
