import {
  failure,
  success,
  type AgentRuntime,
  type PortResult,
} from '@org/agent-messaging-core/runtime'
import type { Child } from './child.js'
import { namedPrograms, type ProgramOptions } from './named-programs.js'
import { FAULTY_GRACE_MS, ProcessAgent, type ProcessLimits } from './process-agent.js'
import { ProcessConnection } from './process-connection.js'
import type { Ready } from './process-protocol.js'
import type { Program } from './program.js'
import { within } from './within.js'

export type ProcessRuntimeOptions = ProgramOptions<Program> & {
  readonly limits?: Partial<ProcessLimits>
}

const defaultLimits: ProcessLimits = {
  startTimeoutMs: 30_000,
  stopGraceMs: 5_000,
  cancelGraceMs: 3_000,
  healthTimeoutMs: 5_000,
  maxLineBytes: 8 * 1024 * 1024,
}

/**
 * Runs agents as child processes that exchange JSON lines on stdin and stdout (docs/runtimes.md).
 * Each agent has one process for all runs. The only option is `{program}`, a configured name.
 */
export function processRuntime({ limits, ...options }: ProcessRuntimeOptions): AgentRuntime {
  const settings = { ...defaultLimits, ...limits }
  const { has, optionsSchema, parseOptions, start } = namedPrograms('process', options)
  return {
    kind: 'process',
    signsRequests: false,
    exclusive: true,
    accepts: () => undefined,
    takesResponseSchema: true,
    has,
    optionsSchema,
    parseOptions,
    start: async ({ agent }, onExit, signal) => {
      const started = start(agent)
      if (!started.ok) return started
      const { child, log } = started.value
      const onStray = (line: string, why: string) => log({ line, why }, 'program.stray_line')
      const { maxLineBytes, startTimeoutMs } = settings
      const connection = new ProcessConnection(child, { maxLineBytes, onStray })
      const ready = await readyMessage(child, connection, startTimeoutMs, signal)
      const parts = { child, connection, limits: settings, onExit }
      return ready.ok
        ? success(new ProcessAgent({ ...parts, history: ready.value.history }))
        : failure({ code: 'RUNTIME_EXITED', message: `the program ${ready.error}` })
    },
  }
}

/** Waits for the ready message. Ends the program if the message is late or invalid. */
async function readyMessage(
  child: Child,
  { ready }: ProcessConnection,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<PortResult<Ready, string>> {
  const exit = child.exited.then(({ reason }) => failure(reason))
  const result =
    (await within(timeoutMs, Promise.race([ready, exit]), undefined, signal)) ??
    failure(
      signal?.aborted
        ? 'was not ready when the service stopped'
        : `did not send ready within ${timeoutMs} ms`,
    )
  if (!result.ok) await child.stop(FAULTY_GRACE_MS)
  return result
}
