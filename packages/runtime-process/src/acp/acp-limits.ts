import { defaultLimits } from '@org/agent-messaging-core/runtime'

export type AcpLimits = {
  /** From the start to the end of the handshake. By default `npx` has time to fetch a package. */
  readonly startTimeoutMs: number
  /** Opening a session is slow for agents that read it from disk. */
  readonly sessionTimeoutMs: number
  /** The time to end a cancelled run. Core waits 5 s. */
  readonly cancelGraceMs: number
  /** From SIGTERM to SIGKILL. */
  readonly stopGraceMs: number
  readonly maxAnswerLength: number
  /** How long a turn waits for the answer of a person. Later the message gets a new turn. */
  readonly waitingTurnMs: number
  /** More waiting turns end the oldest one. */
  readonly maxWaitingTurns: number
}

export const defaultAcpLimits: AcpLimits = {
  startTimeoutMs: 60_000,
  sessionTimeoutMs: 60_000,
  cancelGraceMs: 3_000,
  stopGraceMs: 5_000,
  waitingTurnMs: 86_400_000,
  maxWaitingTurns: 100,
  maxAnswerLength: defaultLimits.responseLength,
}
