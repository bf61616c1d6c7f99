// Plain JavaScript that old versions of Node can load, because it tells them apart.

/** The oldest version of Node that the packages support, as `major.minor`. */
export const NODE_FLOOR = '22.19'

/**
 * Returns a sentence if a version of Node is too old for the packages, otherwise undefined.
 *
 * @param {string} version such as `process.versions.node`
 * @returns {string | undefined}
 */
export function nodeProblem(version) {
  const [major, minor] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = NODE_FLOOR.split('.').map(Number)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined
  return `Node ${NODE_FLOOR} or newer is required, and this is Node ${version}. Install Node 24, for example from https://nodejs.org.`
}
