import type { TraceContext } from '../domain/messages/trace.js'

/**
 * Follows work from its cause, also through other processes. An adapter makes spans of a tracing
 * tool. No method throws or waits. Details are ids, counts and outcomes, never message text,
 * secrets or keys.
 */
export interface Tracing {
  start(span: SpanStart): ActiveSpan
}

export type SpanStart = {
  readonly name:
    | 'message.send' // until the message is stored
    | 'event.publish' // until the events are stored
    | 'agent.run' // from the claim until the outcome is stored
    | 'delivery.attempt' // from the request until the attempt is stored
    | 'store.commit' // one write, until it is durable
  /** The context of the cause. Undefined starts a new trace. */
  readonly parent: TraceContext | undefined
  readonly details: SpanDetails
}

export type SpanDetails = Readonly<Record<string, string | number | boolean | undefined>>

export interface ActiveSpan {
  /** The context for the work that this span causes. Undefined without a trace. */
  readonly trace: TraceContext | undefined
  /**
   * Calls `work` while this span is the active one of the tracing tool, also after each await.
   * Spans that other libraries make in `work` then belong to this span. Returns what `work`
   * returns.
   */
  within<T>(work: () => T): T
  /** Names work of another trace that belongs to this span. */
  link(trace: TraceContext): void
  /** Call this method once. A detail with the name `error` says that the work failed. */
  end(details?: SpanDetails): void
}
