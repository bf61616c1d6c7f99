import type { Agent } from '../domain/agent.js'
import type { AgentRuntime } from '../ports/agent-runtime.js'

/** The runtime that can run the agent in this process; undefined when only another one can. */
export function runtimeHere(
  runtimes: ReadonlyMap<string, AgentRuntime>,
  { runtime: { kind, options } }: Agent,
): AgentRuntime | undefined {
  const runtime = runtimes.get(kind)
  return runtime?.has?.(options) === false ? undefined : runtime
}
