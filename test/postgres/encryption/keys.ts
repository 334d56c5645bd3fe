import type { EncryptionKeys } from "layover/encryption";

/** Keys for tests that encrypt. */
export const secrets = {
  k1: "4rN0cQ7mZx1UeW8yTbK3sVh6JdLfGpA2RtYiOuXw9kE=",
  k2: "Zq5DnB8vYtR2kLsHx7WmCfJ1gPaUeX4oIz0Mw6TyNbQ=",
  sameness: "uH3yXk9TqLwE5mVb2NcRz8JsFd1PgA7oKiQ4Wx6Ye0M=",
};

export const testKeys: EncryptionKeys = { current: "k1", keys: { k1: secrets.k1 }, sameness: secrets.sameness };
