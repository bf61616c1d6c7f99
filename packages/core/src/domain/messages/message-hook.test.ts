import { describe, expect, it } from 'vitest'
import { aHook, anAgent, anEvent } from '@org/agent-messaging-testing'
import { decideHook, hookGets } from './message-hook.js'

const message = { id: 'm', projectId: 'p' }
const stored = (id: string, name: string, isDeleted = false) => ({ id, name, isDeleted })

describe('setting a hook', () => {
  it.each([
    ['inserts the first', [], 'insert'],
    ['inserts beside others', [stored('1', 'other')], 'insert'],
    ['inserts in place of a deleted one', [stored('1', 'mine', true)], 'insert'],
    ['does not count deleted ones', [stored('1', 'a', true), stored('2', 'b')], 'insert'],
    ['changes the one with its id', [stored('0', 'mine'), stored('1', 'other')], 'update'],
    ['refuses the name of another', [stored('1', 'mine')], 'name_taken'],
    ['does not bring a deleted one back', [stored('0', 'mine', true)], 'name_taken'],
    ['refuses one too many', [stored('1', 'a'), stored('2', 'b')], 'limit_reached'],
  ] as const)('%s', (_, hooks, decided) => {
    expect(decideHook(hooks, aHook(message, { id: '0', name: 'mine' }), 2)).toBe(decided)
  })
})

it.each([
  ['message.responded', true],
  ['message.failed', false],
] as const)('a hook of answers gets %s: %s', (name, gets) => {
  expect(hookGets({ events: ['message.responded'] }, anEvent(anAgent(), { name }))).toBe(gets)
})
