import { expect, it } from 'vitest'
import { aMessage, anAgent } from '@org/agent-messaging-testing'
import { decideDueInput, decideWithdrawal, type AskingMessage } from './input-decisions.js'

const state = { kind: 'input_required', askedAt: 0, deadlineAt: 2, dueAt: 1 } as const
const waiting: AskingMessage = { ...aMessage(anAgent()), state }

it('a message that waits without a question cannot be decided', () => {
  expect(() => decideDueInput(waiting, 1)).toThrow('waits without a question')
})

it('a withdrawal fails the message', () => {
  const { inputs, state: failed } = decideWithdrawal(waiting, 1)
  expect(inputs).toEqual([])
  expect(failed).toMatchObject({ kind: 'failed', error: { code: 'INPUT_WITHDRAWN' } })
})
