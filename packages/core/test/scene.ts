import type { ChunkRelay } from '@org/agent-messaging-core/storage'
import {
  createService,
  type AgentSettings,
  type Policy,
  type SendInput,
} from '@org/agent-messaging-core'
import { fakePlatform, type FakeRuntime } from '@org/agent-messaging-testing'

type Handler = NonNullable<Parameters<typeof fakePlatform>[0]>['handler']
type SceneOptions = {
  readonly policy?: Partial<Policy>
  readonly handler?: Handler
  readonly agent?: Partial<AgentSettings>
  readonly idle?: boolean
  readonly relay?: ChunkRelay
}

/**
 * A service on fakes with one project and one running agent, `bot`.
 * With `idle` the workers are not started, and the work is done in passes.
 */
export async function scene({
  policy = {},
  handler,
  agent = {},
  idle = false,
  relay,
}: SceneOptions = {}) {
  const platform = fakePlatform(handler && { handler })
  const service = createService({ ...platform, policy, ...(relay && { relay }) })
  if (!idle) await service.start()
  const project = await service.projects.create({ name: 'test' })
  const settings = {
    projectId: project.id,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
    ...agent,
  } as const
  const { agent: bot } = await service.agents.create(settings)
  if (idle) await service.tick({ budgetMs: 0 }) // brings the agent up, and nothing else
  const ref = { projectId: project.id, agent: 'bot' }
  return {
    ...platform,
    ...{ service, project, bot, ref },
    /** Sends `message` in session `s`. The scene does not await the answer. */
    send: (message = 'hello', more: Partial<SendInput> = {}) =>
      service.messages.send({ ...ref, sessionId: 's', message, ...more }),
    /** As `send`, without a wait for the answer. Returns the message. */
    post: async (message = 'hello', more: Partial<SendInput> = {}) =>
      (await service.messages.send({ ...ref, sessionId: 's', message, waitMs: 0, ...more }))
        .message,
    state: async (messageId: string) => (await service.messages.get({ ...ref, messageId })).state,
    hook: async (url = 'https://receiver.example/hook') =>
      await service.webhooks.create({ projectId: project.id, url, events: ['*'] }),
    /** The deliveries of the project with their attempts, oldest first. */
    deliveries: async () => {
      const page = await service.deliveries.list({ projectId: project.id, limit: 100 })
      const details = await Promise.all(
        page.data.map(({ id }) =>
          service.deliveries.get({ projectId: project.id, deliveryId: id }),
        ),
      )
      return details.toReversed()
    },
    /**
     * The same storage, clock and runtime under a new service: the process that starts after a
     * crash, or beside this one.
     */
    another: (more: Partial<Policy> = {}) =>
      createService({
        ...platform,
        storage: platform.storage.reopen(),
        policy: { ...policy, ...more },
      }),
  }
}

/** The first run that was asked for. */
export function runOf(runtime: FakeRuntime) {
  const [run] = runtime.requests
  if (!run) throw new Error('nothing has run')
  return run
}
