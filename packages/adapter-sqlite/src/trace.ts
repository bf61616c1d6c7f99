import type { TraceContext } from '@org/agent-messaging-core/storage'

export const traceColumn = (trace: TraceContext | undefined): string | null =>
  trace ? JSON.stringify(trace) : null

/** Reads the column that `traceColumn` returned. Spread the result. */
export const toTrace = (column: string | null): { trace?: TraceContext } =>
  column === null ? {} : { trace: JSON.parse(column) as TraceContext }
