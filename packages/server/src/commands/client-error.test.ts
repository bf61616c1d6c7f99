import { ApiError } from '@org/agent-messaging-client'
import { expect, it } from 'vitest'
import { OperatorError } from '../operator-error.js'
import { orRefusal } from './client-error.js'

const refusal = (code: string, message: string, issues?: object[]): ApiError =>
  new ApiError(400, JSON.stringify({ error: { code, message, issues } }), null)
const unreachable = (cause: object): TypeError =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('broken'), cause) })

it.each([
  [refusal('NOT_FOUND', 'No such webhook'), 'no such webhook'],
  [refusal('UNAUTHORIZED', 'Send a key'), 'the server does not know this API key'],
  [refusal('BAD_REQUEST', 'x', [{ path: 'url', message: 'must use https' }]), 'url must use https'],
  [new ApiError(502, 'Bad gateway', null), 'HTTP 502: Bad gateway'],
  [unreachable({ code: 'ECONNREFUSED' }), 'no server responds (ECONNREFUSED)'],
  [unreachable({}), 'no server responds (broken)'],
])('%s is shown to the operator', async (error, reason) => {
  const failed = orRefusal(Promise.reject(error), 'cannot read')
  await expect(failed).rejects.toEqual(new OperatorError(`cannot read: ${reason}`))
})

it('an error of the program is not changed', async () => {
  const error = new RangeError('wrong')
  await expect(orRefusal(Promise.reject(error), 'cannot read')).rejects.toBe(error)
})
