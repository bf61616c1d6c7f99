import {
  createService,
  functionRuntime,
  type AgentFunction,
  type ServiceOptions,
} from '@org/agent-messaging-core'
import type { SendRequest } from '@org/agent-messaging-core/runtime'
import type { Messaging } from '@org/agent-messaging-node'
import type { FakeClock } from './fake-clock.js'
import { fakePlatform } from './fake-platform.js'

export type FakeMessagingOptions = {
  /** Names of agents whose runs wait for `answer` or `fail`, or functions that answer, by name. */
  readonly agents?: readonly string[] | Readonly<Record<string, AgentFunction>>
  readonly policy?: NonNullable<ServiceOptions['policy']>
  readonly publicUrl?: string
}

const OPTIONS: Readonly<Record<keyof FakeMessagingOptions, true>> = {
  agents: true,
  policy: true,
  publicUrl: true,
}

export type SentWebhook = Pick<SendRequest, 'url' | 'headers' | 'body'>

export type FakeMessaging = Messaging & {
  readonly clock: FakeClock
  /** Answers the message, whose run waits. Advance the clock, so that the service goes on. */
  answer(messageId: string, text: string): Promise<void>
  fail(messageId: string, error: Error | string): Promise<void>
  /** The requests to webhooks, in order. Each got the answer 200. */
  readonly requests: readonly SentWebhook[]
}

/**
 * `createMessaging` for tests of the host's code: in memory, without sockets and timers. The time
 * stands still until the test advances `clock`. `stop` advances the clock if work is in flight.
 */
export async function fakeMessaging(options: FakeMessagingOptions = {}): Promise<FakeMessaging> {
  const { messagingOn, requireKnownOptions } = await import('@org/agent-messaging-node/testing')
  requireKnownOptions(options, OPTIONS)
  const { agents = [], policy = {}, publicUrl } = options
  const platform = fakePlatform()
  const { clock, runtime, sender, storage } = platform
  const isList = Array.isArray as (value: unknown) => value is readonly string[]
  const functions = isList(agents) ? {} : agents
  const service = createService({
    ...platform,
    runtimes: [runtime, functionRuntime(functions)],
    policy,
    publicUrl: () => publicUrl,
  })
  const close = () => storage.close()
  const messaging = await messagingOn(
    { platform, storage, service, close },
    {
      publicUrl,
      agents: isList(agents)
        ? Object.fromEntries(agents.map((name) => [name, { runtime: { kind: 'fake' } }]))
        : functions,
    },
  )
  return {
    ...messaging,
    clock,
    requests: sender.requests,
    answer: async (messageId, text) => {
      await clock.advance(0)
      runtime.answer(messageId, text)
    },
    fail: async (messageId, error) => {
      await clock.advance(0)
      runtime.fail(messageId, error instanceof Error ? error.message : error)
    },
    stop: async (grace) => {
      let isStopped = false
      const stopped = messaging.stop(grace).finally(() => {
        isStopped = true
      })
      await clock.until(() => isStopped)
      await stopped
    },
  }
}
