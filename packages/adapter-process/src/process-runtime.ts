import type { AgentRuntime, Clock } from '@org/agent-messaging-core/runtime'
import { err, type Result } from 'neverthrow'
import { startChild, type Child } from './child.js'
import { namedPrograms } from './named-programs.js'
import { FAULTY_GRACE_MS, ProcessAgent, type ProcessLimits } from './process-agent.js'
import { ProcessConnection } from './process-connection.js'
import type { Ready } from './process-protocol.js'
import { limitedLog, type ProgramLog } from './program-log.js'
import type { Environment, Program } from './program.js'
import { within } from './within.js'

export type ProcessRuntimeOptions = {
  /** Programs by name. An agent's option `program` names one. */
  readonly programs: Readonly<Record<string, Program>>
  /**
   * The service's environment. A program inherits `PATH`, `HOME`, `LANG`, `LC_ALL`, `TZ`, `TMPDIR`
   * and the variables in its `inheritEnv`.
   */
  readonly environment: Environment
  readonly clock: Pick<Clock, 'now'>
  /** Receives the lines on stderr and invalid lines on stdout, at most 100 in ten seconds. */
  readonly log?: ProgramLog
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
 * Each agent has one process for all its runs. The only option is `{program}`, the name of a
 * program that the operator configures.
 */
export function processRuntime({
  programs,
  environment,
  clock,
  log = () => undefined,
  limits,
}: ProcessRuntimeOptions): AgentRuntime {
  const settings = { ...defaultLimits, ...limits }
  const { find, has, parseOptions } = namedPrograms('process', programs)
  return {
    kind: 'process',
    signsRequests: false,
    exclusive: true,
    has,
    parseOptions,
    start: async ({ agent }, onExit, signal) => {
      const name = agent.runtime.options['program']
      const program = find(name)
      if (!program)
        return err({
          code: 'RUNTIME_EXITED',
          message: `this process has no program ${JSON.stringify(name)}`,
        })
      const write = limitedLog(log, { agentId: agent.id, program: name }, clock)
      const onStderrLine = (line: string) => write({ line }, 'program.stderr')
      const onStray = (line: string, why: string) => write({ line, why }, 'program.stray_line')
      const child = startChild(program, { environment, onStderrLine })
      const { maxLineBytes } = settings
      const connection = new ProcessConnection(child, { maxLineBytes, onStray })
      const ready = await readyMessage(child, connection, settings.startTimeoutMs, signal)
      return ready
        .map((message) => new ProcessAgent(child, connection, message, settings, onExit))
        .mapErr((reason) => ({ code: 'RUNTIME_EXITED', message: `the program ${reason}` }))
    },
  }
}

/** Waits for the ready message. Ends the program if the message is late or invalid. */
async function readyMessage(
  child: Child,
  { ready }: ProcessConnection,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Result<Ready, string>> {
  const exit = child.exited.then(({ reason }) => err(reason))
  const result =
    (await within(timeoutMs, Promise.race([ready, exit]), undefined, signal)) ??
    err(
      signal?.aborted
        ? 'was not ready when the service stopped'
        : `did not send ready within ${timeoutMs} ms`,
    )
  if (result.isErr()) await child.stop(FAULTY_GRACE_MS)
  return result
}
