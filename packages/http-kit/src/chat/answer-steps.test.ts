import type { Message } from '@org/agent-messaging-core'
import { PartCollector, type Part } from '@org/agent-messaging-core/runtime'
import { aMessage } from '@org/agent-messaging-testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AnswerSteps, type AnswerStep } from './answer-steps.js'

type Event = Parameters<AnswerSteps['take']>[0]

const collector = () => new PartCollector(() => undefined)

/** Returns the events of the stream of a run, and its final message. */
function runOf(emitted: readonly (string | object)[], attempt = 1, response?: string) {
  const parts = collector()
  const events: Event[] = []
  let text = ''
  let index = 0
  for (const one of emitted) {
    const taken = parts.take(one)
    if (taken === undefined || taken === '') continue
    const place = { id: '', attempt, offset: text.length }
    if (typeof taken === 'string') {
      events.push({ kind: 'chunk', ...place, text: taken })
      text += taken
    } else events.push({ kind: 'part', ...place, index: index++, part: taken })
  }
  return { events, message: messageOf(response ?? text, attempt, parts) }
}

function messageOf(response: string, attempt: number, parts: PartCollector): Message {
  const stored = parts.finish(response)
  const state = { kind: 'responded', response, respondedAt: 0, responseTimeMs: 0 } as const
  return {
    ...aMessage({ id: 'a', projectId: 'p' }, { state }),
    attempt,
    ...(stored && { parts: stored }),
  }
}

/** What a reader has after all steps. */
function readBy(steps: readonly AnswerStep[], response: string): readonly Part[] {
  let parts = collector()
  for (const step of steps)
    if (step.kind === 'restart') parts = collector()
    else parts.take(step.kind === 'text' ? step.delta : step.part)
  return parts.finish(response)?.parts ?? []
}

/** Reads the events, except those from `from` to `to`. */
function stepsOf({ events, message }: ReturnType<typeof runOf>, from = 0, to = from): AnswerStep[] {
  const answer = new AnswerSteps()
  const steps = events.flatMap((event, at) => (at >= from && at < to ? [] : answer.take(event)))
  return [...steps, ...answer.finish(message)]
}

const storedOf = ({ parts }: Message): readonly Part[] => parts?.parts ?? []

const call = { toolCallId: 'c', toolName: 'find' }
const RUN = [
  'Let me see. ',
  { type: 'tool-input-start', ...call },
  { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{}' },
  { type: 'tool-input-available', ...call, input: {} },
  { type: 'tool-output-available', toolCallId: 'c', output: 1, preliminary: true },
  { type: 'reasoning-delta', id: 'r', text: 'Hm' },
  { type: 'reasoning-delta', id: 'r', text: 'm.' },
  { type: 'tool-output-available', toolCallId: 'c', output: 2 },
  { type: 'data', name: 'd', id: 'i', data: 1 },
  { type: 'data', name: 'd', id: 'i', data: 2 },
  { type: 'file', url: 'https://f.example', mediaType: 'a/b' },
  'It is ',
  { type: 'finish-step' },
  'here.',
]

describe('the steps of an answer', () => {
  it('are its events, without more at the end', () => {
    const run = runOf(RUN)
    const steps = stepsOf(run)
    expect(steps).toHaveLength(RUN.length)
    expect(readBy(steps, 'Let me see. It is here.')).toEqual(storedOf(run.message))
  })

  it('have what the reader lost, from the final message', () => {
    const run = runOf(RUN)
    for (let from = 0; from < RUN.length; from++)
      for (let to = from + 1; to <= RUN.length; to++) {
        const steps = stepsOf(run, from, to)
        expect([from, to, readBy(steps, 'Let me see. It is here.')]).toEqual([
          from,
          to,
          storedOf(run.message),
        ])
      }
  })

  it('restart only if the reader has something that is not in the answer', () => {
    const isRestart = ({ kind }: AnswerStep) => kind === 'restart'
    const kinds = (steps: readonly AnswerStep[]) => steps.map(({ kind }) => kind)
    expect(stepsOf(runOf(RUN), 3, 9).some(isRestart)).toBe(false)
    expect(kinds(stepsOf(runOf(['void'], 1, 'other')))).toEqual(['text', 'restart', 'text'])
    const later = runOf(['Hello'], 2)
    const answer = new AnswerSteps()
    answer.take({ kind: 'chunk', id: '', attempt: 1, offset: 0, text: 'He' })
    expect(answer.finish(later.message)).toEqual([{ kind: 'text', delta: 'llo' }])
    const other = new AnswerSteps()
    for (const event of runOf(RUN).events) other.take(event)
    expect(kinds(later.events.flatMap((event) => other.take(event)))).toEqual(['restart', 'text'])
    const withParts = new AnswerSteps()
    for (const event of runOf(RUN).events) withParts.take(event)
    expect(kinds(withParts.finish(later.message))).toEqual(['restart', 'text'])
  })

  it('are all stored parts for a late answer, and none for another end', () => {
    const { message } = runOf(RUN)
    expect(readBy(new AnswerSteps().finish(message), 'Let me see. It is here.')).toEqual(
      storedOf(message),
    )
    const cancelled = { ...message, state: { kind: 'cancelled', cancelledAt: 0 } } as const
    expect(new AnswerSteps().finish(cancelled)).toEqual([])
  })

  it('are those of the stream if the stored parts are truncated', () => {
    const run = runOf([...RUN, { type: 'data', name: 'long', data: 'x'.repeat(70_000) }, '!'])
    expect(stepsOf(run)).toHaveLength(RUN.length + 1)
    const reasoning = Array.from({ length: 5 }, () => ({
      type: 'reasoning-delta',
      id: 'r',
      text: 'x'.repeat(20_000),
    }))
    expect(stepsOf(runOf([...reasoning, 'End']))).toHaveLength(6)
  })

  const id = fc.constantFrom('a', 'b')
  const text = fc.string({ maxLength: 3 })
  const event: fc.Arbitrary<string | object> = fc.oneof(
    text,
    fc.record({ type: fc.constant('reasoning-delta'), id, text }),
    fc.record({
      type: fc.constant('tool-input-start'),
      toolCallId: id,
      toolName: fc.constant('t'),
    }),
    fc.record({
      type: fc.constant('tool-input-available'),
      toolCallId: id,
      toolName: fc.constant('t'),
      input: text,
    }),
    fc.record({ type: fc.constant('tool-input-delta'), toolCallId: id, inputTextDelta: text }),
    fc.record({ type: fc.constant('tool-output-available'), toolCallId: id, output: text }),
    fc.record({ type: fc.constant('tool-output-error'), toolCallId: id, errorText: text }),
    fc.record({ type: fc.constant('data'), name: id, id, data: text }),
    fc.record({ type: fc.constant('data'), name: id, data: text }),
    fc.record({ type: fc.constantFrom('start-step', 'finish-step') }),
  )

  it('give every reader the stored parts, with the last values unless an update at the end is lost', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 12 }),
        fc.nat(12),
        fc.nat(12),
        (emitted, from, lost) => {
          const run = runOf(emitted)
          const { state } = run.message
          const response = state.kind === 'responded' ? state.response : ''
          const read = readBy(stepsOf(run, from, from + lost), response)
          const stored = storedOf(run.message)
          const shape = lost === 0 ? joined : shapeOf
          expect(shape(read)).toEqual(shape(stored))
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

/** The order of the parts, their texts, and the states of calls. */
const shapeOf = (parts: readonly Part[]): string =>
  joined(
    parts.map((part) => {
      const { type, text, toolCallId, state } = part as Record<string, unknown>
      return { type, text, toolCallId, state } as unknown as Part
    }),
  )

/** Reasoning that comes with the final message joins the reasoning before it. */
const joined = (parts: readonly Part[]): string =>
  JSON.stringify(parts).replaceAll('"},{"type":"reasoning","text":"', '')
