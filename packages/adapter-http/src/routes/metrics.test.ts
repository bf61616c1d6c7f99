import { describe, expect, it } from 'vitest'
import { openScene } from '../../test/scene.js'

const read = async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' })

describe('/metrics', () => {
  it('does not exist without the host’s metrics', async () => {
    const { ask } = await openScene()
    expect(await ask('GET', '/metrics')).toMatchObject({
      status: 404,
      json: { error: { code: 'NOT_FOUND' } },
    })
  })

  it('serves the host’s text, to every caller if there is no token', async () => {
    const { ask } = await openScene({ http: { metrics: { read } } })
    const answer = await ask('GET', '/metrics', { key: '' })
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      200,
      'up 1\n',
      'text/plain; version=0.0.4',
    ])
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('accepts only its token, and no API key', async () => {
    const { ask, key } = await openScene({ http: { metrics: { read, token: 'a-token' } } })
    expect((await ask('GET', '/metrics', { key: 'a-token' })).status).toBe(200)
    for (const wrong of ['', 'a-toke', 'a-token-', key]) {
      const refusal = await ask('GET', '/metrics', { key: wrong })
      expect([refusal.status, refusal.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(refusal.text).not.toContain('a-token')
    }
  })

  it('refuses every request if the token is empty, as from an unset variable', async () => {
    const { ask } = await openScene({ http: { metrics: { read, token: '' } } })
    for (const key of ['', 'x']) expect((await ask('GET', '/metrics', { key })).status).toBe(401)
    expect(
      (await ask('GET', '/metrics', { key: '', headers: { Authorization: 'Bearer ' } })).status,
    ).toBe(401)
  })

  it('accepts only GET and HEAD', async () => {
    const { ask } = await openScene({ http: { metrics: { read } } })
    const answer = await ask('POST', '/metrics')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
