import { describe, expect, it } from 'vitest'
import {
  isPermitted,
  isRead,
  PERMISSIONS,
  permissionsFor,
  ROLE_NAMES,
  roleOf,
  ROLES,
} from './permission.js'

describe('a call', () => {
  it('that changes something needs the permission of its subject, or its own one', () => {
    expect(permissionsFor('webhooks.update')).toEqual(['project:webhooks'])
    expect(permissionsFor('sessions.erase')).toEqual(['project:erase'])
    expect(permissionsFor('principals.erase')).toEqual(['project:erase'])
    expect(permissionsFor('events.publish')).toEqual(['project:publish'])
    expect(permissionsFor('portals.create')).toEqual(['project:portals', 'project:admin'])
  })

  it('that reads can be made with project:read too', () => {
    expect(permissionsFor('webhooks.list')).toEqual(['project:webhooks', 'project:read'])
    expect(permissionsFor('stats')).toEqual(['project:admin', 'project:read'])
    expect([isRead('messages.stream'), isRead('messages.retry')]).toEqual([true, false])
  })

  it('is permitted to a caller with one of its permissions', () => {
    expect(isPermitted(['project:events', 'project:read'], 'keys.list')).toBe(true)
    expect(isPermitted(['project:read'], 'keys.create')).toBe(false)
    expect(isPermitted([], 'keys.list')).toBe(false)
  })
})

describe('a role', () => {
  it('is the set of its permissions, in any order', () => {
    for (const role of ROLE_NAMES) expect(roleOf([...ROLES[role]].reverse())).toBe(role)
    expect(roleOf(PERMISSIONS)).toBe('admin')
  })

  it('is none for other permissions', () => {
    expect(roleOf([])).toBeUndefined()
    expect(roleOf(['project:message'])).toBeUndefined()
    expect(roleOf(['project:read', 'project:audit', 'project:message'])).toBeUndefined()
  })
})
