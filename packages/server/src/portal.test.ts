import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lookOf, portalPages } from './portal.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'portal-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it.each([
  ['logo.svg', 'image/svg+xml'],
  ['logo.PNG', 'image/png'],
])('reads %s as %s', (name, type) => {
  const logo = path.join(folder, name)
  writeFileSync(logo, 'a picture')
  const look = lookOf({ name: 'Acme', logo })
  expect([look.name, look.logo?.type, Buffer.from(look.logo?.bytes ?? []).toString()]).toEqual([
    'Acme',
    type,
    'a picture',
  ])
})

it('refuses a logo that is missing or too large', () => {
  const logo = path.join(folder, 'logo.svg')
  expect(() => lookOf({ logo })).toThrow('does not exist')
  writeFileSync(logo, ' '.repeat(256 * 1024 + 1))
  expect(() => lookOf({ logo })).toThrow('more than 256 KiB')
})

it('knows the page of links once the public URL is known', () => {
  expect(portalPages({}, () => undefined).pageUrl()).toBeUndefined()
  expect(portalPages({}, () => 'https://msg.example').pageUrl()).toBe(
    'https://msg.example/console/portal',
  )
})
