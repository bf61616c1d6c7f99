import type { Agent } from '../domain/agents/agent.js'
import type { HistoryLimit, Turn } from '../domain/messages/history.js'
import type { JsonObject } from '../domain/values/json.js'
import type { InputPart } from '../domain/messages/input-part.js'
import type { PartEvent } from '../domain/messages/part.js'
import type { AnsweredInput } from '../domain/messages/message-input.js'
import type { ExecutionPrincipal } from '../domain/access/principal.js'
import type { RunError, RunOutcome } from '../domain/messages/run.js'
import type { TraceContext } from '../domain/messages/trace.js'
import type { PortResult } from './port-result.js'

/** Starts agents of one kind. */
export interface AgentRuntime {
  /** The value of an agent's `runtime.kind`. */
  readonly kind: string
  /** True if requests to an agent are signed. Each agent then gets a signing secret, shown once. */
  readonly signsRequests: boolean
  /**
   * True if an agent keeps state in the process that runs it. Then one process at a time runs the
   * agent with all its sessions, and another one takes over when that process stops or dies.
   */
  readonly exclusive?: boolean
  /**
   * Returns false if only another process can start an agent with these options. If absent, this
   * process can start every agent of its kind.
   */
  has?(options: JsonObject): boolean
  /**
   * Describes the options as a JSON Schema of type `object`, for the API's document. If absent, the
   * document says only that the kind has options.
   */
  optionsSchema?(): RuntimeOptionsSchema
  /**
   * Checks the options of a create or update request, and separates the secret ones. An error is a
   * sentence for the caller that starts with the field's name. Options come from requests: they
   * name entries of the operator's configuration, never a program or an argument. Rejects if the
   * runtime is broken.
   */
  parseOptions(options: JsonObject): Promise<PortResult<ParsedOptions, string>>
  /**
   * Returns why an agent with these options takes no such part of a message, as the end of a
   * sentence, or undefined. The send is then refused. A pure function. If absent, agents of this
   * kind take text only, as `acceptsText` says.
   */
  accepts?(part: InputPart, options: JsonObject): string | undefined
  /** True if agents get the `responseSchema` of a message. Otherwise sends with one are refused. */
  readonly takesResponseSchema?: boolean
  /**
   * Resolves with Ok when the agent takes runs. Calls `onExit` at most once, later, if the agent
   * ends without a stop. A slow start ends soon after `signal` aborts, at the stop of this
   * process.
   */
  start(
    agent: RuntimeAgent,
    onExit: OnExit,
    signal?: AbortSignal,
  ): Promise<PortResult<RunningAgent, RunError>>
}

/** JSON Schema 2020-12 of an object. */
export type RuntimeOptionsSchema = {
  readonly properties?: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

/**
 * `isForced`: the runtime ended the agent itself, to get rid of a run that did not end. The
 * supervisor starts such an agent again at once and counts no failure.
 */
export type OnExit = (error: RunError, isForced?: boolean) => void

export type ParsedOptions = { readonly options: JsonObject; readonly secrets: JsonObject }

export type RuntimeAgent = {
  readonly agent: Agent
  /**
   * The secrets that `parseOptions` separated, decrypted, and `signingSecret` if the runtime
   * signs.
   */
  readonly secrets: JsonObject
}

/** An agent that takes runs. Runs of one session never overlap. */
export interface RunningAgent {
  /**
   * Runs one turn. Never rejects, and ends soon after `signal` aborts. The signal's reason is an
   * `Error`. Its `cause` is `timeout` or `cancelled` if the work must end, and `drain` or `lost`
   * if another attempt continues it.
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
  /** What the message has beside its text. Only kinds of agents that `accepts` them get parts. */
  readonly parts?: readonly InputPart[]
  /** JSON Schema of the answer. Another answer fails the message with `RESPONSE_INVALID`. */
  readonly responseSchema?: JsonObject
  readonly metadata?: JsonObject
  readonly executionPrincipal: ExecutionPrincipal
  /** Counts from 1. Above 1, an earlier run of this message failed or was lost. */
  readonly attempt: number
  /**
   * The questions that earlier runs of this message asked, with their answers, in their order. A
   * run that asks must first ask these questions again, or use their answers.
   */
  readonly inputs?: readonly AnsweredInput[]
  /** Authorizes the callback for this run only. */
  readonly runToken: string
  /**
   * The client's trace context for the agent's tracing: the trace id, and a parent id of this run.
   */
  readonly trace?: TraceContext
  /** The last state that `remember` stored for this session, in any process. */
  readonly sessionState?: string
  /**
   * Stores state for the session's next run, such as the runtime's conversation id. Durable when
   * it resolves. Call it before the run ends, with at most 16 Ki characters. Rejects if this run
   * has lost its lease: then the run must end.
   */
  remember(sessionState: string): Promise<void>
  /**
   * Returns the answered turns of the session before this message, oldest first. Drops the oldest
   * ones that do not fit the limit. Rejects while the storage is unavailable.
   */
  history(limit: HistoryLimit): Promise<readonly Turn[]>
  /**
   * Streams a piece of the answer or a part event. Never throws. The outcome's answer is the one
   * that counts. An event that is not valid is dropped.
   */
  emit(emitted: string | PartEvent): void
}
