import type { Fact, Telemetry } from '@org/agent-messaging-core/runtime'

/** Keeps every fact, for the test to look at. */
export type RecordingTelemetry = Telemetry & {
  readonly facts: readonly Fact[]
  named(name: Fact['name']): Fact[]
}

export function recordingTelemetry(): RecordingTelemetry {
  const facts: Fact[] = []
  return {
    facts,
    record: (fact) => void facts.push(fact),
    named: (name) => facts.filter((fact) => fact.name === name),
  }
}
