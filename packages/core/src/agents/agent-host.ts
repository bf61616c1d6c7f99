import { runtimeSecretsContext, type Agent } from '../domain/agents/agent.js'
import { isJsonObject, type JsonObject } from '../domain/values/json.js'
import type { RunError } from '../domain/messages/run.js'
import type { Platform } from '../platform.js'
import type { AgentRuntime, OnExit, RunningAgent } from '../ports/agent-runtime.js'
import type { Crypto } from '../ports/platform.js'
import { AbortGroup } from './abort-group.js'

/** An agent whose runtime runs in this process. */
export type HostedAgent = { readonly agent: Agent; readonly running: RunningAgent }

/** The agents whose runtime runs in this process. */
export class AgentHost {
  readonly #platform: Platform
  readonly #hosted = new Map<string, HostedAgent>()
  readonly #starts = new AbortGroup()

  constructor(platform: Platform) {
    this.#platform = platform
  }

  get(agentId: string): HostedAgent | undefined {
    return this.#hosted.get(agentId)
  }

  all(): HostedAgent[] {
    return [...this.#hosted.values()]
  }

  /** True if the hosted runtime has other settings than the agent has now. */
  isOutdated({ id, runtime }: Agent): boolean {
    const hosted = this.#hosted.get(id)
    return hosted !== undefined && JSON.stringify(hosted.agent.runtime) !== JSON.stringify(runtime)
  }

  async start(
    runtime: AgentRuntime,
    agent: Agent,
    onExit: OnExit,
  ): Promise<HostedAgent | RunError> {
    const secrets = unsealSecrets(this.#platform.crypto, agent)
    if (!secrets) {
      const { id: agentId, projectId } = agent
      this.#platform.telemetry.record({ name: 'secret.unsealable', agentId, projectId })
      return { code: 'RUNTIME_EXITED', message: 'its secrets were sealed with another master key' }
    }
    const started = await this.#starts.run(({ signal }) =>
      runtime.start({ agent, secrets }, onExit, signal),
    )
    if (!started.ok) return started.error
    const hosted = { agent, running: started.value }
    this.#hosted.set(agent.id, hosted)
    return hosted
  }

  async stop(agentId: string): Promise<void> {
    await this.#hosted.get(agentId)?.running.stop()
    this.#hosted.delete(agentId)
  }

  /** Removes an agent whose runtime has ended. */
  remove(agentId: string): void {
    this.#hosted.delete(agentId)
  }

  abortStarts(): void {
    this.#starts.abort('stopping')
  }
}

/** Returns the runtime that can run the agent in this process. */
export function runtimeFor(
  runtimes: ReadonlyMap<string, AgentRuntime>,
  { runtime: { kind, options } }: Pick<Agent, 'runtime'>,
): AgentRuntime | undefined {
  const runtime = runtimes.get(kind)
  return runtime?.has?.(options) === false ? undefined : runtime
}

/** Returns undefined if the secrets were sealed with another master key. */
export function unsealSecrets(crypto: Crypto, { id, runtime }: Agent): JsonObject | undefined {
  if (runtime.secrets === undefined) return {}
  const text = crypto.unseal(runtime.secrets, runtimeSecretsContext(id))
  const secrets: unknown = text === undefined ? undefined : JSON.parse(text)
  return isJsonObject(secrets) ? secrets : undefined
}
