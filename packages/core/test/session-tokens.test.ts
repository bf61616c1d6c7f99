import { createService } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'

async function open() {
  const platform = fakePlatform()
  const service = createService({ ...platform, runtimes: [platform.runtime] })
  const { id: projectId } = await service.projects.create({ name: 'a project' })
  const permissions = ['project:message'] as const
  const { key, apiKey } = await service.keys.create({ projectId, name: 'a key', permissions })
  const create = async (fields: object = {}) =>
    service.sessionTokens.create({ projectId, sessions: { prefix: 'u-1/' }, ...fields })
  const tokenOf = async (fields: object = {}) => (await create(fields)).token
  const read = (token: string) => service.host.authenticateToken({ token })
  return { ...platform, service, projectId, key, apiKey, create, tokenOf, read }
}

const refused = { kind: 'unauthorized' }
const MINUTE = 60_000

describe('a session token', () => {
  it('says what it opens, for 15 minutes', async () => {
    const { create, read, clock, projectId } = await open()
    const sessions = { ids: ['café 1', 's-2'] }
    const made = await create({ sessions, agents: ['support'], endUserId: 'u-1' })
    const { token, expiresAt } = made
    expect(token).toMatch(/^ams_[\w-]+\.[\w-]+$/)
    expect(Date.parse(expiresAt)).toBe(clock.now() + 15 * MINUTE)
    expect(await read(token)).toEqual({
      projectId,
      access: {
        caller: expect.stringMatching(/^token:[\da-f]{32}$/),
        permissions: ['project:message'],
        sessions,
        agents: ['support'],
        principal: { endUserId: 'u-1' },
      },
    })
    await clock.advance(15 * MINUTE - 1)
    await read(token)
    await clock.advance(1)
    await expect(read(token), token).rejects.toMatchObject(refused)
  })

  it('keeps its caller when it is made again, and another scope has another one', async () => {
    const { tokenOf, read } = await open()
    const callerOf = async (fields: object) => (await read(await tokenOf(fields))).access.caller
    const caller = await callerOf({})
    expect(await callerOf({ expiresInMs: MINUTE })).toBe(caller)
    expect(await callerOf({ sessions: { prefix: 'u-2/' } })).not.toBe(caller)
  })

  it('is refused if one of its characters is changed', async () => {
    const { tokenOf, read } = await open()
    const token = await tokenOf()
    for (let place = 0; place < token.length; place++) {
      const other = token[place] === 'A' ? 'B' : 'A'
      const forged = token.slice(0, place) + other + token.slice(place + 1)
      await expect(read(forged), forged).rejects.toMatchObject(refused)
    }
    for (const forged of ['', 'ams_', 'ams_.', `${token}.`, `${token}A`, token.replace('.', '')])
      await expect(read(forged), forged).rejects.toMatchObject(refused)
  })

  it('ends with the key that made it, which is read once per keyCheckMs', async () => {
    const { tokenOf, read, service, key, apiKey, projectId, storage, clock } = await open()
    const token = await tokenOf({ apiKey: key })
    expect(token).not.toContain(key)
    await read(token)
    // Another process revokes the key.
    await storage.reopen().credentials.revokeKey(projectId, apiKey.id, clock.now())
    storage.fail('credentials.findByDigest')
    await read(token)
    await clock.advance(service.policy.stream.keyCheckMs)
    await expect(read(token)).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(read(token), token).rejects.toMatchObject(refused)
    await read(await tokenOf())
  })

  it.each<[object, string, string]>([
    [{ sessions: undefined }, 'sessions', 'is required'],
    [{ sessions: 'all' }, 'sessions', 'must be { ids } or { prefix }'],
    [{ sessions: { prefix: 'u-1' } }, 'sessions', 'does not end with'],
    [
      { sessions: { ids: Array.from({ length: 60 }, () => 'x'.repeat(200)) } },
      'sessions',
      'too many',
    ],
    [{ agents: 'support' }, 'agents', 'must be a list'],
    [{ endUserId: '' }, 'endUserId', 'non-empty'],
    [{ expiresInMs: 999 }, 'expiresInMs', 'from 1000 to 86400000'],
    [{ expiresInMs: 86_400_001 }, 'expiresInMs', 'from 1000 to 86400000'],
  ])('%j is invalid', async (fields, path, problem) => {
    const { create } = await open()
    await expect(create(fields)).rejects.toMatchObject({
      kind: 'invalid',
      details: { issues: [{ path, message: expect.stringContaining(problem) }] },
    })
  })
})
