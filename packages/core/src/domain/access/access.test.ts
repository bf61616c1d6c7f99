import { describe, expect, it } from 'vitest'
import {
  accessProblem,
  actorOf,
  isScoped,
  keepsAccess,
  mayCall,
  ownEndUser,
  ownPrincipal,
  SCOPED_CALLS,
  seesAgent,
  seesSession,
  type Access,
} from './access.js'

const all: Access = { caller: 'u1', permissions: ['project:message'], sessions: 'all' }
const issuesOf = (change: object) => accessProblem({ ...all, ...change })?.issues

describe('the access that a host returns', () => {
  it.each([
    {},
    { caller: 'u'.repeat(256), permissions: [] },
    { sessions: { ids: [] } },
    { sessions: { ids: ['a', 's'.repeat(256)] }, agents: ['support'] },
    { sessions: { prefix: 'user-1/' } },
    { sessions: { prefix: `${'p'.repeat(127)}/` } },
    ...['/', ':', '.', '_', '-'].map((end) => ({ sessions: { prefix: `u1${end}` } })),
    { agents: undefined, principal: { endUserId: 'u'.repeat(256) } },
  ])('can have %j', (change) => {
    expect(issuesOf(change)).toBeUndefined()
  })

  it.each([undefined, null, 'u1', [all]])('cannot be %j', (value) => {
    expect(accessProblem(value)?.issues).toEqual([{ path: 'access', message: 'must be an object' }])
  })

  const SESSIONS = 'must be "all", { ids } or { prefix }'
  const END = 'has a prefix that does not end with one of / : . _ -'
  const IDS = 'must be a list of at most 100 texts of 1 to 256 characters'
  const PRINCIPAL = 'must be { endUserId } with 1 to 256 characters'
  it.each([
    ['caller', undefined, 'is required'],
    ['caller', 7, 'must be a non-empty string'],
    ['caller', '', 'must be a non-empty string'],
    ['caller', 'u'.repeat(257), 'must have at most 256 characters'],
    ['permissions', undefined, 'is required'],
    ['permissions', ['project:all'], expect.stringContaining('must be a list of project:read,')],
    ['permissions', 'project:message', expect.stringContaining('must be a list')],
    ['sessions', undefined, 'is required'],
    ['sessions', null, SESSIONS],
    ['sessions', 'none', SESSIONS],
    ['sessions', {}, SESSIONS],
    ['sessions', { ids: ['a'], prefix: 'a/' }, SESSIONS],
    ['sessions', { ids: 'a' }, IDS],
    ['sessions', { ids: [7] }, IDS],
    ['sessions', { ids: [''] }, IDS],
    ['sessions', { ids: ['s'.repeat(257)] }, IDS],
    ['sessions', { ids: Array.from({ length: 101 }, (_, n) => `${n}`) }, IDS],
    ['sessions', { prefix: '' }, 'has a prefix that must be a non-empty string'],
    [
      'sessions',
      { prefix: `${'p'.repeat(128)}/` },
      'has a prefix that must have at most 128 characters',
    ],
    ['sessions', { prefix: 'user-1' }, END],
    ['agents', 'support', IDS],
    ['principal', 'u1', PRINCIPAL],
    ['principal', {}, PRINCIPAL],
    ['principal', { endUserId: '' }, PRINCIPAL],
    ['principal', { type: 'end_user', endUserId: 'u1' }, PRINCIPAL],
  ])('cannot have the %s %j', (path, value, message) => {
    expect(issuesOf({ [path]: value })).toEqual([{ path, message }])
  })

  it('names an unknown field with the nearest one', () => {
    expect(issuesOf({ session: 'all' })).toEqual([
      { path: 'access', message: expect.stringContaining('session (did you mean sessions?)') },
    ])
  })
})

describe('a scoped caller', () => {
  const scoped: Access = { ...all, sessions: { ids: ['a', 'b'] } }

  it('has some sessions or some agents', () => {
    expect([undefined, all, { ...all, principal: { endUserId: 'u1' } }].map(isScoped)).toEqual([
      false,
      false,
      false,
    ])
    expect([scoped, { ...all, agents: ['support'] }].map(isScoped)).toEqual([true, true])
  })

  it('can make only some calls, and other callers can make every call', () => {
    for (const call of SCOPED_CALLS) expect(mayCall(scoped, call), call).toBe(true)
    for (const call of [
      'sessions.erase',
      'inputs.withdraw',
      'agents.list',
      'agents.unknown',
    ] as const) {
      expect(mayCall(scoped, call), call).toBe(false)
      expect(mayCall(all, call), call).toBe(true)
      expect(mayCall(undefined, call), call).toBe(true)
    }
  })

  it('sees the sessions of its ids, or those that begin with its prefix', () => {
    const ids = ['a', 'ab', 'user-1/x', 'user-1/', 'user-10/x', 'user-1', 'User-1/x']
    const seenBy = (access: Access | undefined) => ids.filter((id) => seesSession(access, id))
    expect(seenBy(undefined)).toEqual(ids)
    expect(seenBy(all)).toEqual(ids)
    expect(seenBy(scoped)).toEqual(['a'])
    expect(seenBy({ ...all, sessions: { prefix: 'user-1/' } })).toEqual(['user-1/x', 'user-1/'])
  })

  it('sees the agents that it names by id or by name', () => {
    const agent = { id: '0198', name: 'support' }
    const seen = (agents?: readonly string[]) => seesAgent({ ...all, agents }, agent)
    expect([undefined, ['support'], ['x', '0198'], ['x'], []].map(seen)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    expect(seesAgent(undefined, agent)).toBe(true)
  })
})

describe('the principal of a caller', () => {
  const access: Access = { ...all, principal: { endUserId: 'u1' } }
  const user = (endUserId: string) => ({ type: 'end_user', endUserId })
  const restricted = (field: string) => ({ kind: 'access_restricted', field })

  it('replaces an omitted one, and refuses another valid one', () => {
    const own = (sent: unknown, by: Access | undefined = access) => ownPrincipal(by, sent)
    for (const sent of [undefined, null]) expect(own(sent)._unsafeUnwrap()).toEqual(user('u1'))
    expect(own(user('u1'))._unsafeUnwrap()).toEqual(user('u1'))
    expect(own('invalid')._unsafeUnwrap()).toBe('invalid')
    for (const sent of [user('u2'), { type: 'service' }])
      expect(own(sent)._unsafeUnwrapErr()).toEqual(restricted('executionPrincipal'))
    expect(own(undefined, all)._unsafeUnwrap()).toBeUndefined()
    expect(ownPrincipal(undefined, user('u2'))._unsafeUnwrap()).toEqual(user('u2'))
  })

  it('is the only end user of a list', () => {
    expect(ownEndUser(access, undefined)._unsafeUnwrap()).toBe('u1')
    expect(ownEndUser(access, 'u1')._unsafeUnwrap()).toBe('u1')
    expect(ownEndUser(access, 'u2')._unsafeUnwrapErr()).toEqual(restricted('endUserId'))
    expect(ownEndUser(all, 'u2')._unsafeUnwrap()).toBe('u2')
    expect(ownEndUser(undefined, undefined)._unsafeUnwrap()).toBeUndefined()
  })
})

it('a change of a caller is a change of a user', () => {
  expect(actorOf(all)).toEqual({ kind: 'user', id: 'u1' })
})

describe('a caller keeps the access', () => {
  const ids = (...of: string[]) => ({ sessions: { ids: of } })
  const prefix = (of: string) => ({ sessions: { prefix: of } })
  const principal = (endUserId: string) => ({ principal: { endUserId } })

  it.each<[before: Partial<Access>, now: Partial<Access>]>([
    [{}, {}],
    [{ permissions: [] }, {}],
    [ids('a', 'b'), ids('c', 'b', 'a')],
    [ids('u/a'), prefix('u/')],
    [ids('a'), {}],
    [prefix('u/a/'), prefix('u/')],
    [prefix('u/'), {}],
    [{ agents: ['a', 'b'] }, { agents: ['b', 'a', 'c'] }],
    [{ agents: ['a'] }, {}],
    [principal('e'), principal('e')],
    [principal('e'), {}],
  ])('from %j to %j', (before, now) => {
    expect(keepsAccess({ ...all, ...before }, { ...all, ...now })).toBe(true)
  })

  it.each<[before: Partial<Access>, now: Partial<Access>]>([
    [{}, { caller: 'u2' }],
    [{}, { permissions: ['project:agents'] }],
    [{}, ids('a')],
    [ids('a', 'b'), ids('a')],
    [ids('v/a'), prefix('u/')],
    [prefix('u/'), ids('u/')],
    [prefix('u/'), prefix('u/a/')],
    [{}, { agents: ['a'] }],
    [{ agents: ['a', 'b'] }, { agents: ['a'] }],
    [{}, principal('e')],
    [principal('e'), principal('f')],
  ])('not from %j to %j', (before, now) => {
    expect(keepsAccess({ ...all, ...before }, { ...all, ...now })).toBe(false)
  })
})
