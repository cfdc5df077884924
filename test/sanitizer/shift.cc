// Sanitizer: undefined
// Report: runtime error: shift exponent
//
// Planted: shifts by more bits than the type has.
int main(int argc, char**) { return 1 << (argc + 40); }
