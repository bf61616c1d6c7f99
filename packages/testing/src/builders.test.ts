import { describe, expect, it } from 'vitest'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { isAgentName } from '@org/agent-messaging-core/host'
import {
  aMessage,
  anAgent,
  anApiKey,
  anEvent,
  aProject,
  aWebhook,
  newMessage,
  PROJECT_ID,
} from './builders.js'
import { fakeIds } from './fakes/fake-ids.js'
import { fakeRandom, seededRandom } from './fakes/fake-random.js'
import { recordingTelemetry } from './fakes/recording-telemetry.js'

describe('builders', () => {
  it('make rows that fit together, each with a different id', () => {
    const agent = anAgent()
    const rows = [
      agent,
      anAgent(),
      aWebhook(),
      aWebhook(),
      anApiKey(),
      anEvent(agent),
      newMessage(agent),
      aMessage(agent),
    ]
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    expect(rows.every(({ id, projectId }) => isUuid(id) && projectId === PROJECT_ID)).toBe(true)
    expect(aProject().id).toBe(PROJECT_ID)
    expect(isAgentName(agent.name)).toBe(true)
    expect([newMessage(agent), aMessage(agent)].every(({ agentId }) => agentId === agent.id)).toBe(
      true,
    )
    expect(JSON.parse(anEvent(agent).body)).toMatchObject({
      event: 'agent.started',
      data: { agentId: agent.id },
    })
  })

  it('take every field that the test sets', () => {
    const agent = anAgent({ name: 'echo', maxQueued: 0 })
    expect(agent).toMatchObject({ name: 'echo', maxQueued: 0, desiredState: 'running' })
    expect(newMessage(agent, { sessionId: 's', idempotencyKey: 'k' })).toMatchObject({
      sessionId: 's',
      idempotencyKey: 'k',
    })
    expect(aWebhook({ events: ['agent.error'] }).events).toEqual(['agent.error'])
  })
})

describe('fake ids', () => {
  it('are growing UUIDs of version 7, the same each time and different in each series', () => {
    const [one, other] = [fakeIds(), fakeIds(1)]
    const ids = Array.from({ length: 300 }, () => one.next())
    expect(ids).toEqual(ids.toSorted())
    expect(ids[0]).toBe('00000000-0001-7000-8000-000000000000')
    expect(ids.every(isUuid)).toBe(true)
    expect(ids).not.toContain(other.next())
  })
})

describe('fake random', () => {
  it('gives the values that it was given, again and again, or 0', () => {
    const random = fakeRandom(0.1, 0.9)
    expect([random.next(), random.next(), random.next()]).toEqual([0.1, 0.9, 0.1])
    expect(fakeRandom().next()).toBe(0)
  })

  it('looks random from a seed, and repeats itself', () => {
    const [one, same, other] = [seededRandom(1), seededRandom(1), seededRandom(2)]
    const draw = ({ next }: typeof one): number[] => Array.from({ length: 1_000 }, next)
    const values = draw(one)
    expect(draw(same)).toEqual(values)
    expect(draw(other)).not.toEqual(values)
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true)
    expect(values.filter((value) => value < 0.5).length).toBeGreaterThan(400)
  })
})

describe('recording telemetry', () => {
  it('keeps facts in order and finds them by name', () => {
    const telemetry = recordingTelemetry()
    telemetry.record({ name: 'message.accepted', messageId: 'a' })
    telemetry.record({ name: 'run.finished', messageId: 'a' })
    expect(telemetry.facts.map(({ name }) => name)).toEqual(['message.accepted', 'run.finished'])
    expect(telemetry.named('run.finished')).toEqual([{ name: 'run.finished', messageId: 'a' }])
  })
})
