import type { TraceContext } from '@org/agent-messaging-core/storage'

export const traceColumn = (trace: TraceContext | undefined): string | null =>
  trace ? JSON.stringify(trace) : null

/** The inverse of `traceColumn`, as a part of what has a trace. */
export const toTrace = (column: string | null): { trace?: TraceContext } =>
  column === null ? {} : { trace: JSON.parse(column) as TraceContext }
