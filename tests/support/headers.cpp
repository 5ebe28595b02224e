// Of this program only the precompiled header is used.
int main() {}
