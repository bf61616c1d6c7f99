import { expect } from 'vitest'

export type Event = { readonly type: string; readonly [field: string]: unknown }

/** The events that open and close something, with the field of its id. */
const PAIRS = [
  ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'messageId'],
  ['REASONING_START', 'REASONING_END', 'messageId'],
  ['REASONING_MESSAGE_START', 'REASONING_MESSAGE_END', 'messageId'],
  ['TOOL_CALL_START', 'TOOL_CALL_END', 'toolCallId'],
  ['STEP_STARTED', 'STEP_FINISHED', 'stepName'],
] as const
/** The events that need something open. */
const CONTENT: Readonly<Record<string, (typeof PAIRS)[number][0]>> = {
  TEXT_MESSAGE_CONTENT: 'TEXT_MESSAGE_START',
  REASONING_MESSAGE_CONTENT: 'REASONING_MESSAGE_START',
  TOOL_CALL_ARGS: 'TOOL_CALL_START',
}
const LAST = ['RUN_FINISHED', 'RUN_ERROR']

/** Expects the events of a whole run to be in an order that clients accept. */
export function expectRun(events: readonly Event[]): void {
  const types = events.map(({ type }) => type)
  expect(types[0]).toBe('RUN_STARTED')
  expect(types.filter((type) => type === 'RUN_STARTED')).toHaveLength(1)
  expect(types.filter((type) => LAST.includes(type))).toEqual([types.at(-1)])
  const open = new Set<string>()
  const used = new Set<string>()
  for (const event of events) {
    const { type } = event
    for (const [start, end, field] of PAIRS) {
      const key = `${start} ${String(event[field])}`
      if (type === start) {
        expect(used).not.toContain(key)
        if (start !== 'STEP_STARTED') used.add(key)
        expect(open).not.toContain(key)
        open.add(key)
      }
      if (type === end) expect(open.delete(key), key).toBe(true)
      if (CONTENT[type] === start) {
        expect(open).toContain(key)
        expect(event['delta']).not.toBe('')
      }
    }
  }
  expect([...open]).toEqual([])
}
