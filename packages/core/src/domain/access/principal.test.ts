import { describe, expect, it } from 'vitest'
import {
  defaultPrincipalProblem,
  principalProblem,
  resolvePrincipal,
  type DefaultExecutionPrincipal,
} from './principal.js'

const service: DefaultExecutionPrincipal = { type: 'service' }
const endUser: DefaultExecutionPrincipal = { type: 'end_user' }
const namedEndUser: DefaultExecutionPrincipal = { type: 'end_user', endUserId: 'default-user' }

const kindOf = (sent: unknown, agentDefault: DefaultExecutionPrincipal): string =>
  resolvePrincipal(sent, agentDefault).match(
    (principal) => (principal.type === 'service' ? 'service' : `end_user ${principal.endUserId}`),
    (error) =>
      error.kind === 'principal_invalid'
        ? `invalid${error.endUserIdMissing ? ', endUserId missing' : ''}`
        : error.kind,
  )

describe('the principal of a request', () => {
  it.each([
    ['omitted', undefined, 'service', 'end_user_id_required'],
    ['service', { type: 'service' }, 'service', 'service'],
    ['an end user', { type: 'end_user', endUserId: 'u' }, 'end_user u', 'end_user u'],
    ['an end user without an id', { type: 'end_user' }, 'invalid', 'end_user_id_required'],
    [
      'an end user with an empty id',
      { type: 'end_user', endUserId: '' },
      'invalid',
      'end_user_id_required',
    ],
    ['null', null, 'invalid', 'invalid, endUserId missing'],
    ['a string', 'service', 'invalid', 'invalid, endUserId missing'],
    ['a list', [], 'invalid', 'invalid, endUserId missing'],
    ['no type', {}, 'invalid', 'invalid, endUserId missing'],
    ['an unknown type', { type: 'admin', endUserId: 'u' }, 'invalid', 'invalid'],
    ['service with an id', { type: 'service', endUserId: 'u' }, 'invalid', 'invalid'],
    [
      'service with another key',
      { type: 'service', role: 'x' },
      'invalid',
      'invalid, endUserId missing',
    ],
    [
      'an end user with another key',
      { type: 'end_user', endUserId: 'u', role: 'x' },
      'invalid',
      'invalid',
    ],
    [
      'another key and no id',
      { type: 'end_user', role: 'x' },
      'invalid',
      'invalid, endUserId missing',
    ],
    ['an id that is a number', { type: 'end_user', endUserId: 7 }, 'invalid', 'invalid'],
    [
      'an id that is too long',
      { type: 'end_user', endUserId: 'u'.repeat(257) },
      'invalid',
      'invalid',
    ],
    ['an id with NUL', { type: 'end_user', endUserId: 'a\0b' }, 'invalid', 'invalid'],
  ])('%s', (_, sent, withServiceDefault, withEndUserDefault) => {
    expect(kindOf(sent, service)).toBe(withServiceDefault)
    expect(kindOf(sent, endUser)).toBe(withEndUserDefault)
    expect(kindOf(sent, namedEndUser)).toBe(withEndUserDefault)
  })

  it('takes an id of exactly 256 characters', () => {
    expect(principalProblem({ type: 'end_user', endUserId: 'u'.repeat(256) })).toBeUndefined()
  })
})

describe("an agent's default", () => {
  it('can leave the end user open', () => {
    expect(defaultPrincipalProblem({ type: 'end_user' })).toBeUndefined()
    expect(defaultPrincipalProblem({ type: 'service' })).toBeUndefined()
  })
  it('is otherwise one of the two variants', () => {
    expect(defaultPrincipalProblem({ type: 'end_user', endUserId: '' })).toMatch(/non-empty/)
    expect(defaultPrincipalProblem(null)).toBe('must be an object')
  })
})
