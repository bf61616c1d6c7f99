import type { AgentRuntime, Clock } from '@org/agent-messaging-core/runtime'
import { err, type Result } from 'neverthrow'
import { startChild, type Child } from './child.js'
import { converse } from './conversation.js'
import { FAULTY_GRACE_MS, processAgent, type ProcessLimits } from './process-agent.js'
import type { Ready } from './process-protocol.js'
import { namedPrograms } from './named-programs.js'
import { limitedLog, type ProgramLog } from './program-log.js'
import type { Environment, Program } from './program.js'
import { within } from './within.js'

export type ProcessRuntimeOptions = {
  /** By name, as an agent's option `program` names them. */
  readonly programs: Readonly<Record<string, Program>>
  /** Ours. A program sees `PATH`, `HOME`, `LANG`, `LC_ALL`, `TZ` and `TMPDIR` of it, and what its `inheritEnv` names. */
  readonly environment: Environment
  readonly clock: Pick<Clock, 'now'>
  /** Is given each line of a program's stderr, and each of its stdout that is not of the protocol: 100 in ten seconds at most. */
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
 * Agents as child processes that speak JSON lines on stdin and stdout (docs/runtimes.md). Each agent has a process of its own,
 * and all its runs go through that one. Options: `{program}`, a name; what is run under it is the operator's to say.
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
      const child = startChild(program, {
        environment,
        onStderrLine: (line) => write({ line }, 'program.stderr'),
      })
      const onStray = (line: string, why: string) => write({ line, why }, 'program.stray_line')
      const conversation = converse(child, { maxLineBytes: settings.maxLineBytes, onStray })
      const ready = await readiness(child, conversation.ready, settings.startTimeoutMs, signal)
      return ready
        .map((said) => processAgent(child, conversation, said, settings, onExit))
        .mapErr((reason) => ({ code: 'RUNTIME_EXITED', message: `the program ${reason}` }))
    },
  }
}

/** A program that is not ready in time, or not rightly, has ended when this resolves. */
async function readiness(
  child: Child,
  ready: Promise<Result<Ready, string>>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Result<Ready, string>> {
  const exit = child.exited.then(({ reason }) => err(reason))
  const late = () =>
    err(
      signal?.aborted
        ? 'was not ready before the stop'
        : `did not say that it is ready within ${timeoutMs} ms`,
    )
  const result = (await within(timeoutMs, Promise.race([ready, exit]), undefined, signal)) ?? late()
  if (result.isErr()) await child.stop(FAULTY_GRACE_MS)
  return result
}
