/** The oldest version of Node that the packages support, as `major.minor`. */
export const NODE_FLOOR: string

/** Returns a sentence if a version of Node is too old for the packages, otherwise undefined. */
export function nodeProblem(version: string): string | undefined
