import { once } from 'node:events'
import path from 'node:path'
import {
  defaultLimits,
  failedRun,
  type AgentRuntime,
  type Clock,
  type RunError,
  type RunningAgent,
} from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import { connectAcp, shakeHands, type AcpConnection, type Introduction } from './acp-connection.js'
import { AgentLate, failureOf, reasonOf } from './acp-failure.js'
import type { PermissionPolicy } from './acp-permissions.js'
import { acpSessions } from './acp-sessions.js'
import { MessageTooLong } from './acp-stream.js'
import { takeTurn } from './acp-turn.js'
import { startChild, type Child } from './child.js'
import { namedPrograms } from './named-programs.js'
import { limitedLog, type ProgramLog } from './program-log.js'
import type { Environment, Program } from './program.js'
import { within } from './within.js'

/** A program that speaks the Agent Client Protocol. */
export type AcpProgram = Program & {
  /** What it may do of what it asks for: `deny` unless given. */
  readonly permissions?: PermissionPolicy
  /** The id of one of its ways to log in, for agents that want to be told; one that needs no person, such as a key in `env`. */
  readonly login?: string
}

export type AcpRuntimeOptions = {
  /** By name, as an agent's option `program` names them. */
  readonly programs: Readonly<Record<string, AcpProgram>>
  /** Ours, of which a program sees what its entry lets through. */
  readonly environment: Environment
  readonly clock: Pick<Clock, 'now'>
  /**
   * Is given each line of a program's stderr, each of its stdout that is not of the protocol, and each of its permission requests
   * with our answer: 100 in ten seconds at most.
   */
  readonly log?: ProgramLog
  readonly limits?: Partial<AcpLimits>
}

export type AcpLimits = {
  /** From the start to the end of the handshake: long enough for `npx` to fetch a package. */
  readonly startTimeoutMs: number
  /** For opening a session, which for some agents means reading a long one. */
  readonly sessionTimeoutMs: number
  /** From a `session/cancel` to the end of the run, whatever the agent does. Core waits 5 s for an aborted run, and then no longer. */
  readonly cancelGraceMs: number
  /** From SIGTERM to SIGKILL. */
  readonly stopGraceMs: number
  /** Of an answer, in UTF-16 units. */
  readonly maxAnswerLength: number
}

const defaults: AcpLimits = {
  startTimeoutMs: 60_000,
  sessionTimeoutMs: 60_000,
  cancelGraceMs: 3_000,
  stopGraceMs: 5_000,
  maxAnswerLength: defaultLimits.responseLength,
}

/** From the end of a connection to SIGTERM: agents end by themselves when their stdin does, and their exit code says why. */
const EXIT_PATIENCE_MS = 1_000

/**
 * Agents that speak the Agent Client Protocol v1 on their stdin and stdout: one process for each, started from the operator's
 * `programs`, with a session of the agent's for each session of ours. Options: `{program}`.
 */
export function acpRuntime({
  programs,
  environment,
  clock,
  log = () => undefined,
  ...options
}: AcpRuntimeOptions): AgentRuntime {
  const limits = { ...defaults, ...options.limits }
  const { find, has, parseOptions } = namedPrograms('acp', programs)
  return {
    kind: 'acp',
    signsRequests: false,
    exclusive: true,
    has,
    parseOptions,
    start: async ({ agent }, onExit, signal) => {
      const name = agent.runtime.options['program']
      const program = find(name)
      if (!program) return err(exited(`this process has no program ${JSON.stringify(name)}`))
      const write = limitedLog(log, { agentId: agent.id, program: name }, clock)
      const child = startChild(program, {
        environment,
        onStderrLine: (line) => write({ line }, 'program.stderr'),
      })
      const connection = connectAcp(child, program.permissions ?? 'deny', {
        onDecision: (decision) => write(decision, 'program.permission'),
        onStray: (line, why) => write({ line, why }, 'program.stray_line'),
      })
      const ended = endOf(child, connection, limits.stopGraceMs)
      try {
        const introduction = await shakeHands(connection, program.login, {
          timeoutMs: limits.startTimeoutMs,
          signal,
        })
        return ok(runningAcpAgent({ limits, program, connection, introduction, ended, onExit }))
      } catch (error) {
        const isGone = connection.closed.aborted
        connection.close()
        const how = await ended
        return err(
          exited(isGone ? `the agent ${how}` : `the agent did not start: ${reasonOf(error)}`),
        )
      }
    },
  }
}

type Started = {
  readonly limits: AcpLimits
  readonly program: AcpProgram
  readonly connection: AcpConnection
  readonly introduction: Introduction
  /** Resolves when the program has ended, to how. */
  readonly ended: Promise<string>
  onExit(error: RunError): void
}

function runningAcpAgent({
  limits,
  program,
  connection,
  introduction,
  ended,
  onExit,
}: Started): RunningAgent {
  const { sessionTimeoutMs, cancelGraceMs, maxAnswerLength } = limits
  const cwd = path.resolve(program.cwd ?? '')
  const sessions = acpSessions({
    connection,
    agent: introduction,
    cwd,
    timeoutMs: sessionTimeoutMs,
  })
  let isStopped = false
  void ended.then((how) => {
    if (!isStopped) onExit(exited(`the agent ${how}`))
  })

  return {
    async run(request, signal) {
      try {
        return await takeTurn(
          { connection, sessions, cancelGraceMs, maxAnswerLength },
          request,
          signal,
        )
      } catch (error) {
        if (connection.closed.aborted)
          return failedRun(
            'RUNTIME_LOST',
            `the agent ${isStopped ? 'was stopped' : await ended}`,
            true,
          )
        // One that neither works nor answers will not come to itself: its restart is the supervisor's to make.
        if (error instanceof AgentLate && connection.turns.size === 0) connection.close(error)
        return failureOf(error, introduction.logins)
      }
    },
    /** The protocol has no ping, so this says no more than that the process is there and has not hung up. */
    async health() {
      return connection.closed.aborted
        ? { ok: false, detail: 'the agent has hung up' }
        : { ok: true }
    },
    async stop() {
      isStopped = true
      connection.close()
      await ended
    },
  }
}

/** Waits for the end of the connection, whoever ended it, sees to it that the program ends too, and says how it did. */
async function endOf(
  child: Child,
  { closed }: AcpConnection,
  stopGraceMs: number,
): Promise<string> {
  await once(closed, 'abort')
  child.stdin.end()
  await within(EXIT_PATIENCE_MS, child.exited, undefined)
  await child.stop(stopGraceMs)
  const why: unknown = closed.reason
  if (why instanceof MessageTooLong) return `sent ${why.message}`
  return why instanceof AgentLate
    ? 'was ended, for it did not answer any more'
    : (await child.exited).reason
}

const exited = (message: string): RunError => ({ code: 'RUNTIME_EXITED', message })
