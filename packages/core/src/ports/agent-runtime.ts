import type { Result } from 'neverthrow'
import type { Agent } from '../domain/agent.js'
import type { HistoryLimit, Turn } from '../domain/history.js'
import type { JsonObject } from '../domain/json.js'
import type { ExecutionPrincipal } from '../domain/principal.js'
import type { RunError, RunOutcome } from '../domain/run.js'
import type { TraceContext } from '../domain/trace.js'

/** Brings agents of one kind to life. */
export interface AgentRuntime {
  /** Names the runtime in an agent's `runtime.kind`. */
  readonly kind: string
  /** Whether requests to such an agent are signed: each agent then gets a signing secret of its own, shown once. */
  readonly signsRequests: boolean
  /**
   * Its agents keep something in the process that runs them. One process at a time then runs such an agent, all of its sessions, and
   * another takes it over when that one stops or dies. Agents of other runtimes run wherever there is room.
   */
  readonly exclusive?: boolean
  /** Whether this process can start an agent with such options, or only another one may be able to. All of its kind if absent. */
  has?(options: JsonObject): boolean
  /**
   * Checks the options of a create or update request and takes what is secret out of what may be shown. Each error is a
   * sentence for the caller that starts with the field's name. Options come from requests: they name entries of the
   * operator's configuration, never a program or an argument.
   */
  parseOptions(options: JsonObject): Promise<Result<ParsedOptions, string>>
  /**
   * Ok once the agent takes runs. `onExit` is called at most once, after that, when it ends without having been stopped. A start that may take
   * long ends soon after `signal` aborts, which says that this process stops.
   */
  start(
    agent: RuntimeAgent,
    onExit: OnExit,
    signal?: AbortSignal,
  ): Promise<Result<RunningAgent, RunError>>
}

/** `isSacrifice`: the runtime has ended it, to be rid of a run that would not end. That is no failure to stay up: it is started again at once. */
export type OnExit = (error: RunError, isSacrifice?: boolean) => void

export type ParsedOptions = { readonly options: JsonObject; readonly secrets: JsonObject }

export type RuntimeAgent = {
  readonly agent: Agent
  /** What `parseOptions` took out, decrypted; and `signingSecret` when the runtime signs. */
  readonly secrets: JsonObject
}

/** An agent that takes runs; never two at once in one session. */
export interface RunningAgent {
  /**
   * One turn. Never rejects, whatever the agent does, and ends soon after `signal` aborts. The signal's reason is an `Error` whose
   * `cause` says why: `timeout` or `cancelled` when the work is to end; `drain` or `lost` when another attempt goes on with it.
   */
  run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome>
  health(signal: AbortSignal): Promise<{ ok: boolean; detail?: string }>
  /** Ends every run and leaves no process, socket or timer behind. Never rejects. */
  stop(): Promise<void>
}

export type RunRequest = {
  readonly messageId: string
  readonly agentId: string
  readonly sessionId: string
  readonly message: string
  readonly metadata?: JsonObject
  readonly executionPrincipal: ExecutionPrincipal
  /** 1-based; above 1 an earlier run of this message was lost or failed. */
  readonly attempt: number
  /** Opens the callback route for this run alone. */
  readonly runToken: string
  /** For the agent's own tracing, when the client sent one: its trace id, and a parent id of this run. */
  readonly trace?: TraceContext
  /** What `remember` last kept of this session, by whichever run and process. */
  readonly sessionState?: string
  /**
   * Keeps what the runtime has to know at the session's next run, such as its own id of the conversation; durable when it
   * resolves, and before the run ends. At most 16 Ki characters. Rejects when this run has lost its lease: then it is to end.
   */
  remember(sessionState: string): Promise<void>
  /** The session's turns before this message that were answered, oldest first: of the newest ones as many as fit. Rejects while the storage is away. */
  history(limit: HistoryLimit): Promise<readonly Turn[]>
  /** Shows those who stream this message a piece of the answer now. Never throws; the answer that counts is the outcome's. */
  emit(chunk: string): void
}
